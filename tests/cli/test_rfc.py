"""`taut rfc` as it is typed: what it refuses, and what a dry run says."""

import shutil
from pathlib import Path

import pytest

from taut.cli import rfc_job
from taut.cli.main import run_command
from taut.core.binaries import find_binary_or_none

needs_programs = pytest.mark.skipif(
    find_binary_or_none("taut-generate") is None, reason="needs taut-generate: make build"
)


@pytest.fixture
def spec(spec):
    """Without a length: a recipe has its own."""
    spec.write_text(spec.read_text().replace('duration = "1s"\n', ""))
    return spec


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        ("2545", [], "rfc 2545: no recipe of taut; known are 2544, 8219, 9004"),
        ("2544", ["--min", "30Mpps"], "min 30Mpps is not below max 20Mpps"),
        ("2544", ["--min", "fast"], "rate 'fast'"),
        ("2544", ["--min", "15Gbps"], "is not below max 20Mpps with frames of 64"),
        ("2544", ["--set", "rfc.frames=63"], "63 B: a frame holds headers"),
        ("2544", ["--set", "rfc.frames=9000"], "9000 B: a frame holds headers"),
        ("2544", ["--set", "rfc.tests=bursts"], "bursts: no test of RFC 2544"),
        ("2544", ["--set", "count=9", "--set", "rfc.tests=bursts"], "bursts: no test of RFC 2544"),
        ("2544", ["--set", "rfc.tests=jitter"], "rfc.tests[0]: "),
        ("2544", ["--set", "rfc.trial=60"], "60 has no unit"),
        ("2544", ["--set", "rfc.latency=30s"], "lower rfc.tag_after, or lengthen rfc.latency"),
        ("2544", ["--set", "rfc.trails=60s"], "did you mean 'trial'?"),
        ("2544", ["--set", "rfc.repetitions=0"], "rfc.repetitions: "),
        ("8219", ["--set", "rfc.tags=0"], "rfc.tags: "),
        ("9004", ["--set", "rfc.burst_step=0"], "rfc.burst_step: "),
        ("9004", ["--resume"], "which run? give its directory with --out"),
        ("2544", ["--set", "device.eager.driver=loopback"], "nothing to search"),
        ("2544", ["--quick", "--min", "0.5pps"], "min 0.5pps sends less than a packet in a trial"),
    ],
)
def test_a_mistake_is_answered_in_one_line(spec, number, words, said, capsys):
    assert run_command(["rfc", number, str(spec), *words]) == 2

    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[[host]]\nname = "as found"\n', "a recipe measures the host as it is"),
        ('[[traffic]]\nname = "b"\nrates = ["1kpps"]\n', "a recipe has one load"),
    ],
)
def test_a_file_that_says_more_than_a_recipe_takes_is_refused(spec, more, said, capsys):
    spec.write_text(spec.read_text() + more)

    assert run_command(["rfc", "2544", str(spec), "--dry-run"]) == 2
    assert said in capsys.readouterr().err


def test_a_restart_over_a_link_that_does_not_survive_it_is_refused(spec, capsys):
    words = ["--set", "traffic.constant.restart=1s", "--set", "duration=3s"]

    assert run_command(["run", str(spec), *words, "--dry-run"]) == 2
    assert "eager: over memif the generator's end does not survive" in capsys.readouterr().err


@needs_programs
@pytest.mark.parametrize("number", ["2544", "8219", "9004"])
def test_the_long_form_says_its_hours(spec, number, capsys, tmp_path):
    assert run_command(["rfc", number, str(spec), "--dry-run"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert f"RFC {number}: throughput, " in shown
    assert "Frames of 64, 128, 256, 512, 1024, 1280, 1518 B, both directions" in shown
    assert "Not as RFC" not in shown
    assert " h " in shown.partition("In all about")[2]
    assert [path.name for path in tmp_path.iterdir()] == ["typed.toml"]


@needs_programs
def test_disk_is_of_what_is_recorded(spec, capsys):
    said = {}
    for record in ("auto", "all", "none"):
        words = ["--quick", "--set", f"record={record}", "--max", "2Mpps", "--dry-run"]
        assert run_command(["rfc", "2544", str(spec), *words]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        said[record] = shown.partition("Disk: ")[2].partition(" In all")[0]

    # A test of 3 latency trials of 2.2 s and 2 recoveries of 2.2 s for 3 sizes, each twice; over
    # memif no device is reset. 12 bytes a packet.
    assert said["auto"].startswith("at most 0.8 GB, of packets at 1 Mpkt/s (more are not recorded)")
    assert said["all"].startswith("at most 3.2 GB, of packets at 4 Mpkt/s if each")
    assert "if each trial is repeated, 0.4 GB if none is; " in said["auto"]
    assert said["none"].startswith("little, for no packets are recorded")
    assert all(f" are free in {Path.cwd()}" in words for words in said.values())


@needs_programs
@pytest.mark.parametrize(
    ("words", "free", "is_warned"),
    [
        (["--max", "2Mpps"], 10**9, False),
        (["--max", "2Mpps"], 3 * 10**8, True),
        ([], 15 * 10**7, True),
        (["--set", "record=all"], 15 * 10**7, True),
        (["--max", "2Mpps", "--set", "record=tail"], 15 * 10**7, False),
    ],
)
def test_a_recipe_that_may_fill_the_disk_says_so_and_begins(
    spec, words, free, is_warned, monkeypatch, capsys
):
    class BegunError(Exception):
        pass

    def begin(*_, **__):
        raise BegunError

    # 0.4 GB where no trial is repeated.
    usage = shutil.disk_usage(spec.parent)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    monkeypatch.setattr(rfc_job, "require", lambda *_, **__: None)
    monkeypatch.setattr(rfc_job, "measuring", begin)
    typed = ["rfc", "2544", str(spec), "--quick", "--out", str(spec.parent / "run"), *words]

    with pytest.raises(BegunError):
        run_command(typed)

    said = " ".join(capsys.readouterr().err.split())
    assert ("MB are free; make room" in said) is is_warned


@needs_programs
@pytest.mark.parametrize("length", ["count = 1000", 'duration = "9s"'])
def test_the_files_own_length_does_not_count(spec, length, capsys):
    spec.write_text(f"{length}\n{spec.read_text()}")

    assert run_command(["rfc", "8219", str(spec), "--quick", "--dry-run"]) == 0
    assert "trials of 1 s, 1 s of them at a load" in " ".join(capsys.readouterr().out.split())


@needs_programs
def test_the_short_form_says_what_is_shortened_and_takes_minutes(spec, capsys):
    assert run_command(["rfc", "2544", str(spec), "--quick", "--dry-run"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert "Not as RFC 2544 has it: frame sizes 64, 512, 1518 B instead of" in shown
    about = shown.partition("In all about ")[2].partition(";")[0]
    assert " min " in about
    assert " h " not in about
