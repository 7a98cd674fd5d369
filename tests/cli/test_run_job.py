"""What a measured run is made into."""

import json
import shutil
from pathlib import Path

import pytest

from made_run import VARIANTS, make_run
from taut.cli import run_job as module
from taut.cli.options import core_overrides
from taut.cli.run_job import finish, print_plan, run_and_report
from taut.core.errors import InputError
from taut.experiment.model import CoreSpec
from taut.experiment.plan import make_plan
from taut.experiment.room import disk_bytes
from taut.experiment.run_manifest import NO_ORIGIN
from taut.experiment.spec import parse_spec
from taut.records.rundir import RunDirectory
from terminal import WIDE, Terminal

EXAMPLE = Path(__file__).parents[2] / "examples/first-look.toml"


def test_without_a_report_a_run_has_its_results_and_no_drawing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDirectory(make_run(tmp_path / "run", VARIANTS[:1], repetitions=1))

    assert finish(run, as_json=False, publish=None, draw=False) == 0

    [result] = json.loads((run.path / "results.json").read_text())["trials"]
    shown = capsys.readouterr().out
    assert result["dut"] in shown
    assert "Report: " not in shown
    assert not (run.path / "report.html").exists()
    assert not (run.path / "figures").exists()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [((), " are free."), (("duration=24h", "repetitions=100"), "make room or give --out")],
)
def test_a_dry_run_says_cores_disk_and_time(
    overrides: tuple[str, ...], words: str, tmp_path: Path, terminal: Terminal
) -> None:
    plan = make_plan(parse_spec(EXAMPLE.read_text(), overrides))

    lines = terminal.printed(lambda: print_plan(plan, tmp_path / "runs" / "x"), WIDE).splitlines()

    assert lines[: len(plan.trials)][0].startswith(plan.trials[0].name)
    assert [line for line in lines if line.startswith("Cores: generator on core ")]
    assert [line for line in lines if line.startswith("Disk: about ") and words in line]
    assert [line for line in lines if line.startswith(f"{len(plan.trials)} trials, about ")]


def test_a_dry_run_says_what_goes_untraced(tmp_path: Path, terminal: Terminal) -> None:
    plan = make_plan(parse_spec(EXAMPLE.read_text(), ["trace=tail", "record=none"]))

    shown = terminal.printed(lambda: print_plan(plan, tmp_path / "x"), WIDE)

    assert "\nwarning: traffic constant at 100kpps: not traced, late packets will" in shown


@pytest.mark.parametrize(
    ("free", "status"), [(10**9, "begun"), (2 * 10**8, "warned"), (10**8, "refused")]
)
def test_a_run_that_has_no_room_on_the_disk_is_not_begun(
    free: int,
    status: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class BegunError(Exception):
        pass

    def begin(*_: object, **__: object) -> None:
        raise BegunError

    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    monkeypatch.setattr(module, "require", lambda _: None)
    monkeypatch.setattr(module, "run_plan", begin)
    # 400,000 packets of each of three devices, recorded and not traced: 60 bytes each meanwhile.
    asked = ("duration=4s", "warm_up=0s", "repetitions=10", "record=all", "trace=off")
    plan = make_plan(parse_spec(EXAMPLE.read_text(), asked))
    wanted = sum(disk_bytes(plan.trials))
    assert 2 * 10**8 < wanted < 4 * 10**8

    with pytest.raises(InputError if status == "refused" else BegunError) as raised:
        run_and_report(plan, tmp_path / "run", NO_ORIGIN)

    said = str(raised.value) if status == "refused" else capsys.readouterr().err
    assert ("MB are free; make room" in " ".join(said.split())) is (status != "begun")


@pytest.mark.parametrize(
    ("cores", "expected"),
    [
        (None, CoreSpec(generator=1, writer=0)),
        ("2", CoreSpec(device=2, generator=1, writer=0)),
        ("2-3", CoreSpec(device=2, generator=3, writer=0)),
        ("3,2", CoreSpec(device=3, generator=2, writer=0)),
    ],
)
def test_cores_that_are_named_leave_the_others_as_the_file_has_them(
    cores: str | None, expected: CoreSpec
) -> None:
    overrides = ("cores.generator=1", "cores.writer=0", *core_overrides(cores))

    assert parse_spec(EXAMPLE.read_text(), overrides).cores == expected
