"""What a machine that cannot trace says, and who goes on without; a made-up taut-trace answers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from taut.core.errors import MissingToolError, TrialError
from taut.experiment import preflight, tracing
from taut.experiment.cores import Cores
from taut.experiment.fields import Trace
from taut.experiment.plan import Plan, make_plan
from taut.experiment.spec import parse_spec
from taut.testbed.scope import RunScope

REFUSES = "echo 'taut-trace: tracefs may not be mounted here; run as root' >&2; exit 2"
# Says what it was told to do, then that it is armed, and waits for its end.
RECORDS = (
    "trap 'exit 0' TERM; echo \"$@\"; echo 'taut-trace: armed' >&2; while :; do sleep 0.05; done"
)
CORE = 0
CORES = Cores(generator=CORE, device=CORE, writer=CORE, runner=CORE)
CONTINUOUS = tracing.Wanted("continuous")
SMALL = tracing.Wanted("continuous", "-syscalls", 16)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A taut-trace that is this shell script."""
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()

    def make(script: str) -> None:
        path = tmp_path / "bin" / tracing.PROGRAM
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return make


def plan_of(trace: str, rate: str = "10kpps") -> Plan:
    text = 'name = "t"\nduration = "1s"\n[[device]]\ndriver = "loopback"\n[[traffic]]\n'
    return make_plan(parse_spec(f'{text}rates = ["{rate}"]\n', [f"trace={trace}"]))


def test_a_machine_that_can_trace_has_nothing_to_say(program: Callable[[str], None]) -> None:
    program("exit 0")

    assert tracing.why_not() is None


def test_the_programs_own_words_say_why_not(program: Callable[[str], None]) -> None:
    program(REFUSES)

    assert tracing.why_not() == "taut-trace: tracefs may not be mounted here; run as root"


def test_a_program_that_is_not_there_or_dies_is_a_reason_too(
    program: Callable[[str], None],
) -> None:
    assert "program not found" in (tracing.why_not() or "")
    program("exit 3")
    assert tracing.why_not() == "taut-trace: ended with exit status 3"


def test_where_threads_have_numbers_of_their_own_nothing_is_traced(
    program: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    program("exit 0")
    monkeypatch.setattr(tracing, "has_own_numbers", lambda _: True)

    assert (tracing.why_not() or "").endswith("; start it with --pid=host")
    assert tracing.why_auto_goes_without(plan_of("auto")) == tracing.why_not()


@pytest.mark.parametrize("mode", ["continuous", "tail"])
def test_a_mode_by_name_that_cannot_be_had_is_refused_before_anything_starts(
    program: Callable[[str], None], mode: str
) -> None:
    program(REFUSES)

    reasons = [reason for reason in preflight.missing(plan_of(mode)) if "trace" in reason]

    assert reasons[-1].startswith(f"trace = {mode}: taut-trace: tracefs may not be mounted")
    assert reasons[-1].endswith("or measure without: --no-trace")
    assert MissingToolError("").exit_status == 2


@pytest.mark.parametrize(
    ("trace", "rate", "is_reason"),
    [("auto", "10kpps", True), ("auto", "3Mpps", False), ("off", "10kpps", False)],
)
def test_auto_goes_without_and_knows_why_where_anything_was_to_be_traced(
    program: Callable[[str], None], trace: str, rate: str, is_reason: bool
) -> None:
    program(REFUSES)
    plan = plan_of(trace, rate)

    assert not [reason for reason in preflight.missing(plan) if "tracefs" in reason]
    assert (tracing.why_auto_goes_without(plan) is not None) == is_reason


@pytest.mark.parametrize(
    ("mode", "expected"), [("continuous", ""), ("tail", " --follow {raw}/packets.bin")]
)
def test_the_mode_is_in_the_command_line_and_the_end_is_polite(
    tmp_path: Path, program: Callable[[str], None], mode: Trace, expected: str
) -> None:
    program(RECORDS)
    raw = tmp_path / "raw"
    report(raw, mode=mode)

    with (
        RunScope(tmp_path / "base") as scope,
        tracing.traced(tracing.Wanted(mode), CORES, (), raw, tmp_path, scope) as tracer,
    ):
        said = tracer.program.log_text().splitlines()[0]
        tracing.finish(tracer)

    assert said == f"--out {raw} --cores {CORE} --mode {mode}{expected.format(raw=raw)}"
    assert tracer.program.exit_status == 0


@pytest.mark.parametrize(("n_threads", "n_left_out"), [(256, 0), (300, 44)])
def test_of_more_threads_than_it_takes_those_on_measured_cores_are_watched(
    tmp_path: Path,
    program: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    n_threads: int,
    n_left_out: int,
) -> None:
    program(RECORDS)
    report(tmp_path)
    threads = range(1000, 1000 + n_threads)
    monkeypatch.setattr(tracing, "threads_of", lambda *_: threads)
    # The last ones have the core, the others another.
    affinity = {thread: {CORE if thread >= 1200 else CORE + 1} for thread in threads}
    monkeypatch.setattr(tracing.os, "sched_getaffinity", affinity.__getitem__)

    with (
        RunScope(tmp_path / "base") as scope,
        tracing.traced(CONTINUOUS, CORES, (1000,), tmp_path, tmp_path, scope) as tracer,
    ):
        said = tracer.program.log_text().split()
        tracing.finish(tracer)

    watched = [int(thread) for thread in said[said.index("--threads") + 1].split(",")]
    assert len(watched) == 256
    assert watched == sorted(watched)
    assert {thread for thread in threads if thread >= 1200} <= {*watched}
    assert [f"of {n_left_out} of its threads" in note for note in tracer.notes] == (
        [True] if n_left_out else []
    )


def test_a_trace_of_another_size_than_asked_ends_the_run(
    tmp_path: Path, program: Callable[[str], None]
) -> None:
    program(RECORDS)
    report(tmp_path, buffer_bytes=16)

    with (
        RunScope(tmp_path / "base") as scope,
        tracing.traced(SMALL, CORES, (), tmp_path, tmp_path, scope) as tracer,
        pytest.raises(MissingToolError, match="asked for buffer_bytes 16777216, understood 16;"),
    ):
        tracing.finish(tracer)

    said = tracer.program.log_text()
    assert "--buffer 16777216" in said
    assert "--events -syscalls" in said


def report(raw: Path, **said: object) -> None:
    """Write what a taut-trace says that did as it was told."""
    raw.mkdir(exist_ok=True)
    written = {"cores": [CORE], "mode": "continuous", **said}
    (raw / "trace.json").write_text(json.dumps(written))


def test_one_that_will_not_arm_fails_with_its_own_words(
    tmp_path: Path, program: Callable[[str], None]
) -> None:
    program(REFUSES)

    with (
        RunScope(tmp_path / "base") as scope,
        pytest.raises(TrialError) as caught,
        tracing.traced(CONTINUOUS, CORES, (), tmp_path / "raw", tmp_path, scope),
    ):
        pytest.fail("it was armed")

    words = "taut-trace: tracefs may not be mounted here; run as root"
    assert tracing.reason_of(caught.value) == words


def test_one_that_dies_on_the_way_is_told_by_its_end(
    tmp_path: Path, program: Callable[[str], None]
) -> None:
    program("echo 'taut-trace: armed' >&2; kill -9 $$")

    with (
        RunScope(tmp_path / "base") as scope,
        tracing.traced(CONTINUOUS, CORES, (), tmp_path, tmp_path, scope) as tracer,
    ):
        tracer.program.wait()
        with pytest.raises(TrialError) as caught:
            tracing.finish(tracer)

    assert tracing.reason_of(caught.value) == "taut-trace: killed by SIGKILL"
