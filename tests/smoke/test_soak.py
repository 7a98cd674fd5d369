"""`taut soak` and `taut watch`, whole, over shared memory: killed, resumed, and added up."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from taut.cli.main import run_command
from taut.experiment import rows as rows_of_soaks
from taut.records.documents.json_form import parse
from taut.records.documents.soak import SoakDocument
from taut.records.documents.watch import WatchDocument
from taut.records.live import counted
from taut.records.rundir import RunDirectory
from taut.records.segments import read_segments
from waiting import wait_for

pytestmark = [pytest.mark.smoke, pytest.mark.beside, pytest.mark.timeout(300)]

GAP_NS = 1_000_000  # between two packets
TEXT = """
name = "short"
duration = "1s"
warm_up = "50ms"
deadline = "5s"
trace = "off"
floor = false
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["1kpps"]
[require]
loss = "< 99%"
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "soak.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def n_rows(out: Path) -> int:
    """Count rows that are whole: with their latencies, which are on the disk a moment later."""
    return sum(len(one.segment.rows) for one in read_segments(out))


def assert_textfile_adds_up(textfile: Path, out: Path) -> None:
    """The histogram's count and sum are those of all segments."""
    lines = [line for line in textfile.read_text().splitlines() if not line.startswith("#")]
    samples = {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}
    kept = [one.all for one in read_segments(out)]
    name, of = "taut_soak_latency_seconds", '{device="eager",soak="short"}'
    assert samples[f"{name}_count{of}"] == sum(one.count.sum() for one in kept)
    assert samples[f"{name}_sum{of}"] == pytest.approx(sum(one.sum_ns for one in kept) / 1e9)


def test_a_killed_soak_goes_on_where_it_was_and_all_rows_add_up(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, textfile = tmp_path / "run", tmp_path / "taut.prom"
    soak = ["soak", str(spec), "--duration", "8s", "--every", "1s", "--out", str(out), "--wait"]
    soak += ["--prometheus", str(textfile)]
    command = [sys.executable, "-m", "taut.cli.main", *soak]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ) as run:
        wait_for("two rows", lambda: n_rows(out) >= 2 or run.poll() is not None, timeout_s=200)
        run.send_signal(signal.SIGKILL)
        run.wait()

    assert run_command([*soak, "--resume", "--json"]) == 0

    found = parse(SoakDocument, json.loads(capsys.readouterr().out), "soak")
    killed, resumed = found.course.segments
    assert (killed.ended, resumed.ended) == ("killed", "whole")
    # A segment ends with its last packet, which is due up to a millisecond before the time is over.
    assert 0 <= 8_000_000_000 - found.course.measured_ns <= 2 * GAP_NS
    assert found.notes[0].startswith("segment 0 was killed after ")
    rows = [row for segment in found.course.segments for row in segment.rows]
    for segment in found.course.segments:
        assert [row.n for row in segment.rows] == list(range(len(segment.rows)))
        assert [row.end_ns for row in segment.rows[:-1]] == [
            row.start_ns for row in segment.rows[1:]
        ]
    for name, total in found.course.counters.items():
        assert total == sum(row.counters[name] for row in rows), name
    assert found.course.latency.n == sum(row.latency.n for row in rows)
    assert found.course.latency.max_ns == max(row.latency.max_ns or 0 for row in rows)
    # The rows of a segment are all that its generator counted, to the last packet.
    [trial] = RunDirectory(out).trials()
    assert trial.meta.generator is not None
    counters = counted(trial.meta.generator.counters)
    assert {name: sum(row.counters[name] for row in resumed.rows) for name in counters} == counters
    assert sum(row.latency.n for row in resumed.rows) == counters["sent"] - counters["lost"]
    assert {"taut", "taut-generate", "taut-forward"} <= set(rows[0].memory_bytes)
    assert [one.rule for one in found.verdicts] == ["loss < 99%"]
    assert_textfile_adds_up(textfile, out)

    # All is measured: there is nothing to go on with.
    assert run_command([*soak, "--resume", "--json"]) == 0
    again = parse(SoakDocument, json.loads(capsys.readouterr().out), "soak")
    assert len(again.course.segments) == 2
    assert run_command(["watch", str(out)]) == 2
    assert "nothing is measured there now" in capsys.readouterr().err


def test_ctrl_c_ends_it_and_all_that_was_measured_counts(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    soak = ["soak", str(spec), "--duration", "5m", "--every", "1s", "--out", str(out), "--wait"]
    command = [sys.executable, "-m", "taut.cli.main", *soak]
    # In a process of its own: it leaves cores, and takes the lowest priority, for good.
    watch = [sys.executable, "-m", "taut.cli.main", "watch", str(out), "--json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        wait_for("a row", lambda: n_rows(out) >= 1 or run.poll() is not None, timeout_s=200)
        watched = subprocess.run(watch, stdout=subprocess.PIPE, check=True)
        run.send_signal(signal.SIGINT)
        printed, said = run.communicate()

    seen = parse(WatchDocument, json.loads(watched.stdout), "watch")
    assert seen.duration_ns == 300_000_000_000
    assert seen.whole.counters["sent"] > 0
    assert run.returncode == 130
    assert "go on: --out" in said.decode().splitlines()[-1]
    assert "Ended early: interrupted." in " ".join(printed.decode().split())
    [trial] = RunDirectory(out).trials()
    assert trial.is_whole
    assert (out / "report.html").is_file()


def test_it_goes_on_when_nobody_reads_it_any_more(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    soak = ["soak", str(spec), "--duration", "5m", "--every", "1s", "--out", str(out), "--wait"]
    command = [sys.executable, "-m", "taut.cli.main", *soak]
    with subprocess.Popen(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE) as run:
        wait_for("a row", lambda: n_rows(out) >= 1 or run.poll() is not None, timeout_s=200)
        assert run.stdout is not None
        run.stdout.close()
        enough = n_rows(out) + 3
        wait_for("rows", lambda: n_rows(out) >= enough or run.poll() is not None, timeout_s=200)
        run.send_signal(signal.SIGINT)

    assert run.returncode == 130
    assert n_rows(out) >= enough
    found = parse(SoakDocument, json.loads((out / "soak.json").read_text()), "soak")
    assert (found.stopped, len(found.course.segments)) == ("interrupted", 1)


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    """A command for --on-fail that writes what it is told into the file `told`."""
    path = tmp_path / "hook.sh"
    path.write_text(f'#!/bin/sh\necho "$1" >{tmp_path / "told"}\n')
    path.chmod(0o755)
    return path


def kill_device(run: subprocess.Popen[bytes]) -> None:
    for child in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split():
        if Path(f"/proc/{child}/comm").read_text() == "taut-forward\n":
            os.kill(int(child), signal.SIGKILL)


@pytest.mark.parametrize("warm_up", ["50ms", pytest.param("5m", marks=pytest.mark.long)])
def test_where_the_device_dies_its_rows_are_kept_and_the_hook_is_told(
    warm_up: str, spec: Path, tmp_path: Path, hook: Path
) -> None:
    spec.write_text(TEXT.replace("50ms", warm_up))
    out, has_row = tmp_path / "run", warm_up == "50ms"
    soak = ["soak", str(spec), "--duration", "5m", "--every", "1s", "--out", str(out), "--wait"]
    command = [sys.executable, "-m", "taut.cli.main", *soak, "--on-fail", str(hook)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        wait_for(
            "a row, or its warm-up",
            lambda: n_rows(out) >= 1 or (not has_row and is_sent(out)) or run.poll() is not None,
            timeout_s=200,
        )
        kill_device(run)
        printed, said = run.communicate()

    why = "the device under test died during the trial"
    assert run.returncode == 1
    assert said.decode().splitlines()[-1].startswith(f"taut: the soak ended early: {why}; ")
    assert (tmp_path / "told").read_text() == f"{why}\n"
    assert (n_rows(out) >= 1) is has_row
    assert (why in " ".join(printed.decode().split())) is has_row
    [kept] = read_segments(out)
    assert kept.segment.ended == "failed"
    assert kept.all.count.sum() == sum(row.latency.n for row in kept.segment.rows)


def is_sent(out: Path) -> bool:
    """Whether a generator sends packets, be it those of the warm-up."""
    return any(out.glob("soak/*/segment.json"))


@pytest.mark.parametrize(
    ("warm_up", "options"),
    [("5m", []), pytest.param("50ms", ["--control"], marks=pytest.mark.long)],
)
def test_ctrl_c_before_the_first_row_of_the_device_is_no_failure(
    warm_up: str, options: list[str], spec: Path, tmp_path: Path, hook: Path
) -> None:
    spec.write_text(TEXT.replace("50ms", warm_up))
    out = tmp_path / "run"
    soak = ["soak", str(spec), "--duration", "5m", "--every", "1s", "--out", str(out), "--wait"]
    command = [sys.executable, "-m", "taut.cli.main", *soak, *options, "--on-fail", str(hook)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as run:
        wait_for("packets", lambda: is_sent(out) or run.poll() is not None, timeout_s=200)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate()

    assert run.returncode == 130, said
    assert "go on: --out" in said.decode().splitlines()[-1]
    assert not (tmp_path / "told").exists()
    assert not (out / "soak.json").exists()


@pytest.mark.long
@pytest.mark.root
def test_a_segment_that_cannot_be_stored_is_told_and_its_rows_are_judged(
    spec: Path, tmp_path: Path, hook: Path
) -> None:
    out = tmp_path / "run"
    soak = ["soak", str(spec), "--duration", "5m", "--every", "1s", "--out", str(out), "--wait"]
    command = [sys.executable, "-m", "taut.cli.main", *soak, "--on-fail", str(hook)]
    in_the_way = out / "trials" / "000-eager-bare-constant_64-1kpps-r1"
    with subprocess.Popen(command, stderr=subprocess.PIPE) as run:
        wait_for("a row", lambda: n_rows(out) >= 1 or run.poll() is not None, timeout_s=200)
        in_the_way.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(in_the_way)], check=True)
        try:
            kill_device(run)
            _, said = run.communicate()
        finally:
            subprocess.run(["umount", "--lazy", str(in_the_way)], check=True)

    assert run.returncode == 1, said
    assert "cannot be stored" in said.decode().splitlines()[-1]
    assert "cannot be stored" in (tmp_path / "told").read_text()
    found = parse(SoakDocument, json.loads((out / "soak.json").read_text()), "soak")
    assert "cannot be stored" in (found.stopped or "")
    assert [one.rule for one in found.verdicts] == ["loss < 99%"]


def fill(folder: Path) -> Path:
    """Take all that is left of a disk."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return filler


@pytest.mark.root
def test_a_full_disk_ends_it_with_all_rows_so_far_and_with_room_it_goes_on(
    spec: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = small_disk / "run"
    soak = ["soak", str(spec), "--every", "1s", "--out", str(out), "--wait"]
    command = [sys.executable, "-m", "taut.cli.main", *soak, "--duration", "5m"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        wait_for("two rows", lambda: n_rows(out) >= 2 or run.poll() is not None, timeout_s=200)
        filler = fill(small_disk)
        _, said = run.communicate()

    assert run.returncode == 1, said
    last = said.decode().splitlines()[-1]
    assert "No space left on device" in last or "disk is full" in last
    [cut_short] = read_segments(out)
    assert len(cut_short.segment.rows) >= 2
    assert cut_short.all.count.sum() == sum(row.latency.n for row in cut_short.segment.rows)

    filler.unlink()
    assert run_command([*soak, "--duration", "5m", "--resume", "--dry-run"]) == 0
    assert read_segments(out)[0].segment.rows == cut_short.segment.rows
    capsys.readouterr()


# Beside others a row may take longer than its second.
@pytest.mark.alone
def test_a_clock_that_is_set_is_told_and_costs_no_packet(
    spec: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hour_ns = 3_600_000_000_000
    # The time of day beside a clock that nobody sets, row by row: an hour back, then two forward.
    apart_ns = iter([0, 0, -hour_ns, -hour_ns, hour_ns])
    monkeypatch.setattr(rows_of_soaks, "clocks_apart_ns", lambda: next(apart_ns, hour_ns))
    out = tmp_path / "run"
    # Twice as long as four rows take: where taut gets no core a row is longer than its second.
    words = ["soak", str(spec), "--duration", "8s", "--every", "1s", "--out", str(out)]

    assert run_command([*words, "--wait", "--json"]) == 0

    shown = capsys.readouterr()
    found = parse(SoakDocument, json.loads(shown.out), "soak")
    rows = found.course.segments[0].rows
    assert [row.notes for row in rows][:4] == [
        (),
        ("the clock of the machine was set by -3,600.0 s",),
        (),
        ("the clock of the machine was set by +7,200.0 s",),
    ]
    assert "nothing is lost by it" in " ".join(shown.err.split())
    [trial] = RunDirectory(out).trials()
    assert trial.meta.generator is not None
    assert (
        sum(row.counters["sent"] for row in rows) == counted(trial.meta.generator.counters)["sent"]
    )
    assert [row.end_ns for row in rows[:-1]] == [row.start_ns for row in rows[1:]]
