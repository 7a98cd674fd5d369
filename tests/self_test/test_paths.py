"""The tables of paths and acts, and what is said of them; nothing is measured here."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rich.console import Console

from made_confusion import made_confusion
from taut.cli import self_test as command
from taut.cli.main import run_command
from taut.core.errors import InputError, TautError
from taut.dut.drivers import DRIVERS
from taut.records.documents.self_test import ControlOfPath
from taut.self_test.disturbance import duration_ns
from taut.self_test.late_acts import Control
from taut.self_test.path_report import PathResults, path_documents, path_line, print_paths
from taut.self_test.path_trials import PathResult, plan_of
from taut.self_test.paths import ACTS, PATHS, Kind, Target, acts_on, paths_of

ACT = made_confusion("fair-hog")
FOUND = PathResult(
    PATHS[0], 1_500, Control(300, 40, {"stopped": 3}), (ACT,), {"quota": "no control group"}
)


def test_each_path_is_a_device_and_has_acts() -> None:
    assert len({path.name for path in PATHS}) == len(PATHS)
    for path in PATHS:
        assert path.link in path.device.dut.link_kinds
        assert (path.device.dut.n_links == 0) == (path.kind in (Kind.FLOOR, Kind.KERNEL_FLOOR))
        assert acts_on(path)
        assert set(path.only) <= {act.name for act in acts_on(path)}


def test_each_device_has_a_path_but_for_programs_of_the_users() -> None:
    assert {path.driver for path in PATHS} == set(DRIVERS) - {"command"}


def test_only_a_process_is_stopped_and_the_group_comes_last() -> None:
    for act in ACTS:
        # Only a process can be stopped.
        assert act.target is not Target.DEVICE or set(act.right) <= {Kind.PROCESS, Kind.CHAIN}
    # Its control group stays until the trace has ended.
    assert [act.wants_group for act in ACTS] == [False] * (len(ACTS) - 1) + [True]


def test_a_path_has_a_control_and_then_its_acts() -> None:
    plan = plan_of(0, PATHS, 20)

    names = [(trial.device.name, trial.traffic.name.partition(".")[0]) for trial in plan.trials]
    assert names == [(path.name, name) for path in PATHS for name in ("control", "acts")]
    lengths = [trial.duration_ns for trial in plan.trials[1::2]]
    assert lengths == [duration_ns(acts_on(path), 20) for path in PATHS]


def test_paths_are_named_and_come_in_the_order_of_the_table() -> None:
    assert [path.name for path in paths_of(["eager", "floor_veth"])] == ["floor_veth", "eager"]
    with pytest.raises(InputError, match="--path gre: not one of floor_memif, "):
        paths_of(["gre"])


def test_a_path_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["explain", "--self-test", "--path", "gre"]) == 2

    assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Paths that are measured at once; what each gives stands here by name."""
    found: dict[str, Any] = {}

    @contextmanager
    def trials_of(_core: int, paths: Any, _n_acts: int) -> Iterator[Any]:
        found["asked"] = [path.name for path in paths]

        def run(path: Any) -> PathResult:
            if path.name in found:
                raise found[path.name]
            return FOUND

        yield run

    monkeypatch.setattr(command, "path_trials", trials_of)
    monkeypatch.setattr(command, "missing_on", lambda path, _: found.get(f"no {path.name}"))
    return found


def test_a_path_without_its_program_is_skipped_with_a_line(trials: dict[str, Any]) -> None:
    trials |= {"no l2fwd": "l2fwd: program not found", "testpmd": TautError("it died")}
    said = io.StringIO()

    chosen = paths_of(["l2fwd", "testpmd", "eager"])
    results = command.run_paths(0, chosen, 20, Console(file=said, width=120))

    assert trials["asked"] == ["testpmd", "eager"]
    assert len(results.found) == 1
    assert results.skipped == {"l2fwd": "l2fwd: program not found", "testpmd": "failed: it died"}
    assert "l2fwd: skipped: l2fwd: program not found\n" in said.getvalue()


def test_where_no_path_could_be_tested_it_fails(trials: dict[str, Any]) -> None:
    trials["no l2fwd"] = "not built"

    with pytest.raises(TautError, match="l2fwd: not built"):
        command.run_paths(0, paths_of(["l2fwd"]), 20, Console(file=io.StringIO()))


def test_what_is_printed_has_every_figure_and_each_kind_of_miss() -> None:
    text = io.StringIO()

    print_paths(Console(file=text, width=140), PathResults([FOUND], {"l2fwd": "not built"}))

    said = text.getvalue()
    # 97 and 99 of 100 felt; 2 of 120 without any reason; 3 of a tail of 300.
    for words in ("97.0 %", "99.0 %", "98.3 %", "1.0 %", "1.50 µs", "l2fwd: skipped: not built"):
        assert words in said
    assert "fair-hog: 1 missed: the gap held no event at all" in said
    assert "fair-hog: larger beside it: preemption 2" in said
    assert "quota: not made: no control group" in said
    assert "100 acts felt, recall 97.0 %, found 99.0 %; control: 1.0 % of 300" in path_line(FOUND)
    assert "by chance, as often as acts take of the time: up to a third" in " ".join(said.split())


def test_the_document_has_the_same_figures() -> None:
    [one] = path_documents(PathResults([FOUND]))

    assert (one.path, one.late_ns) == ("floor_memif", 1_500)
    assert one.control == ControlOfPath(300, 40, {"stopped": 3}, 0.01)
    assert one.acts[0].recall == 0.97
    assert one.not_made == {"quota": "no control group"}
