"""What a tutorial tells to type works, in order, and prints what stands below it, numbers apart."""

import re
from pathlib import Path

import pytest

from tutorials import Place, Step, run, steps

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("docs/tutorials/*.md"))
OF_ROOT = {"why-late", "trim-a-host"}


@pytest.mark.smoke
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.root] if page.stem in OF_ROOT else [])
        for page in PAGES
    ],
)
def test_a_tutorial_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    place = Place(tmp_path)
    told = list(steps(page.read_text(), place))

    for step in told:
        printed = run(step, place)
        assert step.bare(printed) == step.bare(step.printed), step.command

    assert len(told) >= 3


def test_another_line_is_seen_and_another_number_is_not() -> None:
    step = Step("x", ("eager  20,000  0  1.20 µs  5.97 ms*", "No proof"), re.compile("^eager"))

    assert step.same(["eager 9,000  0  61 ns 7 µs", "Proof of another kind"])
    assert not step.same(["buffered 9,000  0  61 ns 7 µs", "No proof"])
    assert not step.same(["eager", "No proof"])
    assert not step.same([])


def test_a_column_that_does_not_fit_is_as_one_that_does() -> None:
    title = "device     p50       p99      p99.9       max  generator late"
    step = Step("x", (title, "eager  61 ns  1.20 µs  14.5 µs  5.97 ms*  2 %"), None)

    assert step.same([title.replace("max", "p99.99  max"), "eager 1 ns 2 ns 3 ns 4 ns 5 ns 6 %"])
    assert not step.same([title.replace("max  ", ""), "eager 1 ns 2 ns 3 ns 4 ns 5 ns 6 %"])


def test_what_packages_bring_is_typed_in_their_root_alone(tmp_path: Path) -> None:
    text = (ROOT / "docs/tutorials/first-measurement.md").read_text()

    here, there = (
        [step.command for step in steps(text, place)]
        for place in (Place(tmp_path), Place(tmp_path, Path("/root-of-packages")))
    )

    assert [command for command in there if command not in here] == there[:1]
    assert there[0].startswith("apt-get install ")
