from pathlib import Path

import pytest

from taut.core.errors import MissingToolError
from taut.host import capability
from taut.host.capability import Status
from taut.host.host import Host
from taut.records.documents.json_form import parse
from taut.records.documents.trial import ClockReading


def _cores(root: Path, online: str, isolated: str = "") -> Host:
    folder = root / "sys/devices/system/cpu"
    folder.mkdir(parents=True)
    (folder / "online").write_text(online)
    (folder / "isolated").write_text(isolated)
    return Host(root)


@pytest.mark.parametrize(
    ("online", "status"), [("0", Status.LIMITED), ("0-1", Status.LIMITED), ("0-3", Status.YES)]
)
def test_two_cores_measure_and_three_measure_better(
    tmp_path: Path, online: str, status: Status
) -> None:
    found = capability.check_cores(_cores(tmp_path, online))

    assert found.status == status
    assert bool(found.remedy) == (status != Status.YES)


def test_isolation_is_seen(tmp_path: Path) -> None:
    assert capability.check_isolation(_cores(tmp_path, "0-3", "2-3")).status == Status.YES


def _clock_says(monkeypatch: pytest.MonkeyPatch, answer: dict[str, object]) -> None:
    monkeypatch.setattr(
        capability, "read_clock", lambda cores: parse(ClockReading, answer, "clock")
    )


def test_a_clock_that_cannot_be_used_is_required_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _clock_says(monkeypatch, {"usable": False, "why": "no constant_tsc"})

    found = capability.check_clock(Host(tmp_path))

    assert found.status == Status.NO
    assert found.is_required
    assert "constant_tsc" in found.observed


def test_a_usable_clock_shows_rate_and_skew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skew = [{"cores": [0, 1], "skew_ns": -12, "uncertainty_ns": 3}]
    _clock_says(monkeypatch, {"usable": True, "tsc_hz": 2.5e9, "skew": skew})

    found = capability.check_clock(Host(tmp_path))

    assert found.status == Status.YES
    assert "2500.000 MHz" in found.observed
    assert "12 ns" in found.observed


def test_a_clock_program_that_is_not_built_has_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_built(cores: object) -> dict[str, object]:
        raise MissingToolError("taut-clock: program not found; run `make build`")

    monkeypatch.setattr(capability, "read_clock", not_built)

    assert capability.check_clock(Host(tmp_path)).remedy == "run `make build`"


def test_every_check_answers_on_any_machine(tmp_path: Path) -> None:
    found = capability.capabilities(Host(tmp_path))

    assert len({row.name for row in found}) == len(found)
    assert all(row.observed for row in found)
    assert all(row.remedy for row in found if row.status != Status.YES)
