"""Continuous integration fails where a test is skipped for anything but a missing component."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import traceable
from skips import fail_unless_allowed, lacks, read_allowed


@pytest.mark.parametrize(
    ("reason", "component"),
    [
        ("Skipped: java without a compiler", "a Java compiler"),
        ("taut-trace: tracefs may not be mounted here; run as root", "a kernel that can be traced"),
        ("needs two cores", "a second core"),
        ("too noisy: 3 felt, load 12", None),
        ("too busy a machine: 900 iterations in a second", None),
        ("needs root", None),
        ("this machine has a journal: taut host undo", None),
    ],
)
def test_a_skip_is_for_a_component_of_the_list_or_for_none(
    reason: str, component: str | None
) -> None:
    assert lacks(reason, read_allowed()) == component


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("Skipped: too noisy: 3 felt", "failed"), ("Skipped: java without a compiler", "skipped")],
)
def test_any_other_skip_is_a_failure(reason: str, outcome: str) -> None:
    place = ("tests/test_x.py", 1, "test_x")
    report = pytest.TestReport("test_x", place, {}, "skipped", ("x.py", 1, reason), "call")

    fail_unless_allowed(report)

    assert report.outcome == outcome
    assert reason in str(report.longrepr)


@pytest.mark.parametrize(
    ("reason", "status"),
    [("too noisy", pytest.ExitCode.INTERRUPTED), ("needs two cores", pytest.ExitCode.OK)],
)
def test_the_skip_of_a_whole_file_is_judged_alike(reason: str, status: int, tmp_path: Path) -> None:
    skip = f"import pytest\npytest.skip({reason!r}, allow_module_level=True)\n"
    (tmp_path / "test_left_out.py").write_text(skip)
    (tmp_path / "test_there.py").write_text("def test_there(): pass\n")
    words = ["-p", "conftest", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        env={**os.environ, "CI": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == status, done.stdout + done.stderr
    assert ("has no component that says so" in done.stdout) == (status != pytest.ExitCode.OK)


def test_a_program_is_not_believed_that_nothing_can_be_traced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = "taut-trace: tracefs may not be mounted here; run as root"
    monkeypatch.setattr(traceable, "_can_trace", lambda: True)
    traceable.skip_if_untraceable(said)

    monkeypatch.setattr(traceable, "_can_trace", lambda: False)
    traceable.skip_if_untraceable("taut: something else")
    with pytest.raises(pytest.skip.Exception, match="may not be mounted"):
        traceable.skip_if_untraceable(said)
