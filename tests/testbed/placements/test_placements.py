"""What every placement does: the family's conformance test."""

import pytest
from pydantic import ValidationError

from taut.dut.drivers import DRIVERS
from taut.records.documents.trial import BARE
from taut.testbed.links import LINKS
from taut.testbed.placement import PlacementKind
from taut.testbed.placements import PLACEMENTS

ALL = pytest.mark.parametrize("kind", PLACEMENTS.values(), ids=PLACEMENTS.keys())


@ALL
def test_it_is_called_as_the_table_calls_it_and_says_what_it_is(kind: PlacementKind) -> None:
    assert PLACEMENTS[kind.name] is kind
    assert kind.summary
    assert not kind.summary.endswith(".")
    assert kind.enter_ns >= 0


@ALL
def test_an_unknown_option_is_refused(kind: PlacementKind) -> None:
    with pytest.raises(ValidationError, match="colour"):
        kind.options_type(colour="red")


@ALL
def test_it_takes_one_of_the_devices_and_says_in_a_line_why_not_others(kind: PlacementKind) -> None:
    options = kind.options_type()
    answers = [
        kind.refuses(name, link, options)
        for name, driver in DRIVERS.items()
        for link in driver.link_kinds
        if link in LINKS
    ]

    assert None in answers
    assert all(answer and "\n" not in answer for answer in answers if answer is not None)


@ALL
def test_without_its_programs_it_names_them_and_the_remedy(
    kind: PlacementKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    missing = kind.missing(kind.options_type())

    if kind.name == BARE:
        assert missing is None
    else:
        assert missing is not None
        assert "install" in missing
        assert "\n" not in missing
