"""Where in the file something is wrong."""

import pytest

from taut.experiment.positions import find_position

TEXT = """\
name = "x"
[cores]
  generator = 0
[[device]]
driver = "taut_forward"
options = { transmit = "eager", burst = 4 }
[[device]]
driver = "command"
[device.options]
argv = ["a", "b"]
[[traffic]]
rates = [
  "10kpps",
]
links.pci = 1
"""


@pytest.mark.parametrize(
    ("loc", "position"),
    [
        (("name",), (1, 1)),
        (("cores", "generator", "int"), (3, 3)),
        (("device", 0), (4, 1)),
        (("device", 0, "options", "burst"), (6, 33)),
        (("device", 1, "driver"), (8, 1)),
        (("device", 1, "options", "argv", 0), (10, 1)),
        (("traffic", 0, "rates", 0), (12, 1)),
        (("traffic", 0, "links", "pci"), (15, 1)),
        (("traffic", 0, "missing"), (11, 1)),
        (("nothing",), None),
        ((), None),
    ],
)
def test_a_place_is_the_key_or_the_table_around_it(
    loc: tuple[str | int, ...], position: tuple[int, int] | None
) -> None:
    assert find_position(TEXT, loc) == position
