"""Every help: it names what a value is, breaks no word, and its examples work as they are printed.

Examples that only read run as they are; those that measure or change run for less long, dry, or on
a tree of files. The few that take long are run elsewhere, which is named, and parsed here.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import click
import pytest

from host_tree import TreeWriter, tree
from made_captures import made_pair, pcap_bytes, write_capture
from made_run import VARIANTS, make_run
from taut.analysis.results import analyse_run
from taut.cli.help import Context
from taut.cli.main import TAUT, run_command
from taut.core.binaries import BINARIES, find_binary
from taut.experiment import leftovers
from taut.records.packed import write_packed
from taut.records.restore import header_of_blocks, restored
from taut.records.rundir import RunDirectory
from terminal import WIDTHS

ROOT = Path(__file__).parents[2]
WIDTH = 80
HANDED_OVER = ("generate", "forward", "inject")
PROGRAMS = [name for name in BINARIES if name != "taut-layout"]
# What a value is called when nobody thought of it.
NO_METAVAR = re.compile(r"(?<!=)\b(VALUE|TEXT|PATH|INTEGER|FLOAT|RANGE|ITEM|CHOICE)\b")

# Run with more words behind them, of which the last one said counts; and as root where it says so.
AS_ROOT = {
    "taut explain 4242 --duration 5s": ["--duration", "300ms"],
    "taut trim --pid 4242 --cores 2,3": ["--dry-run", "--wait", "--window", "50ms"],
    "taut doctor --clean": [],
    "taut host hold --latency 0 --seconds 10": ["--seconds", "0.1"],
    "taut rfc 2544 examples/rfc.toml --dry-run": [],
    "taut rfc 2544 examples/rfc.toml --quick": ["--dry-run"],
    "taut rfc 8219 examples/rfc.toml --set rfc.frames=64,1518 --out runs/8219": ["--dry-run"],
}
WITH = {
    "taut run examples/first-look.toml --out runs/first": ["--dry-run"],
    "taut run examples/first-look.toml --set traffic.constant.rates=10kpps,20kpps": ["--dry-run"],
    "taut search examples/capacity.toml --out runs/capacity": ["--dry-run"],
    "taut search examples/capacity.toml --goal fast:within=1ms,share=99.9%": ["--dry-run"],
    "taut host noise --cores 1 --duration 5s": ["--duration", "100ms"],
    "taut soak examples/soak.toml --duration 24h --out runs/soak": ["--dry-run"],
    "taut soak examples/soak.toml --duration 24h --out runs/soak --resume": ["--dry-run"],
    """taut soak examples/soak.toml --require "max < 1ms" --on-fail 'logger -t taut'""": [
        "--dry-run"
    ],
}
# Run on a tree of files in the place of this machine; tests/acceptance/test_apply.py has a machine.
ON_A_TREE = {
    "taut host apply --cores 1": ["--yes"],
    "taut host apply --only R24,R06 --yes": [],
    "taut host undo": [],
}
# These read, and write no more than files, so that they may run beside others.
READS = (
    *("taut check ", "taut report ", "taut compare ", "taut trend ", "taut search ", "taut rfc "),
    "taut soak ",
    *("taut analyze ", "taut reproduce hipnet21 ", "taut init", "taut runs", "taut completion "),
    *("taut explain runs/", "taut schema", "taut pack ", "taut unpack "),
    *("taut host audit", "taut host plan", "taut host lint", "taut host cmdline"),
)
# Run elsewhere, for they take long: the file, and how. Here they are parsed.
ELSEWHERE = {
    "taut quick": "tests/docs/test_tutorials.py: the first one, with --out",
    "taut quick --out runs/quick --json": "tests/docs/test_tutorials.py: likewise, without --json",
    "taut explain --self-test --cores 1": "tests/smoke/test_self_test.py: of some causes and paths",
    "taut trim examples/first-look.toml --budget 5m": "tests/acceptance/test_trim.py: another one",
    "taut watch runs/soak": "tests/smoke/test_soak.py: one look, and of a run that has ended",
    "taut watch runs/soak --every 10s": "tests/smoke/test_soak.py: likewise",
    "taut watch runs/soak --json": "tests/smoke/test_soak.py: likewise",
    "taut host effect R24,R06 R22": "tests/acceptance/test_effect.py: another set, shorter runs",
}
# Not an error of the example: what is asked about is as it is here.
STATUS = {
    'taut check runs/first --require "p99.9 < 25us" --require "loss = 0"': {1, 3},
    "taut check runs/first --profile urllc:within=500us --junit check.xml": {1, 3},
    # Of one repetition each nothing can be shown to be slower.
    'taut compare runs/first runs/second --fail-if "p99 > +10%"': {1},
    "taut trend runs": {0, 2},  # the newest there may be the only one of its experiment
    "taut host lint": {0, 3},
    "taut host lint --here isolcpus=1 nohz_ful=1": {3},
    "taut host verify": {0, 1},
    "taut doctor": {0, 1},
}


def walk(group: click.Group = TAUT, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    ctx = Context(group)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from walk(command, (*path, name))
        elif name not in HANDED_OVER:
            yield (*path, name)


PATHS = list(walk())


def find(path: tuple[str, ...]) -> click.Command:
    command: click.Command = TAUT
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(Context(command), name)
        assert found is not None
        command = found
    return command


def examples(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(getattr(find(path), "examples", ()))


def help_of(*words: str) -> str:
    # As a terminal would: argparse, click and rich all read COLUMNS.
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), "COLUMNS": str(WIDTH)}
    command = [sys.executable, "-m", "taut.cli.main", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return done.stdout


def check_help(text: str) -> None:
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    assert NO_METAVAR.findall(text) == []
    assert "\\" not in text
    assert re.search(r"\nExamples:\n  taut", text)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_help_fits_a_terminal_and_has_an_example(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    texts = []
    for option in ("-h", "--help"):
        assert run_command([*path, option]) == 0
        texts.append(capsys.readouterr().out)

    assert texts[0] == texts[1]
    check_help(texts[0])


@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_is_broken_at_any_width(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    run_command(["trim", "-h"])

    assert {"R24,R06-now.", "--dry-run", "runs/trim-NAME-TIME."} <= set(
        capsys.readouterr().out.split()
    )


@pytest.mark.smoke
@pytest.mark.beside
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_spell_their_help_alike(program: str) -> None:
    texts = [
        subprocess.run([find_binary(program), option], capture_output=True, text=True).stdout
        for option in ("-h", "--help")
    ]

    assert texts[0] == texts[1]
    assert "  --version " in texts[0]
    check_help(texts[0])


@pytest.mark.smoke
@pytest.mark.beside
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_word_of_a_program_is_broken_at_any_width(program: str) -> None:
    words = []
    for width in WIDTHS:
        env = {**os.environ, "COLUMNS": str(width)}
        path = find_binary(program)
        text = subprocess.run([path, "-h"], capture_output=True, text=True, env=env).stdout
        words.append(text.split())
        told = text.partition("\nExamples:")[0]
        assert [line for line in told.splitlines() if len(line) > width] == []

    assert words[0] == words[1] == words[2]


@pytest.mark.smoke
@pytest.mark.beside
@pytest.mark.parametrize("name", HANDED_OVER)
def test_a_program_is_called_as_it_was_typed(name: str) -> None:
    text = help_of(name, "-h")

    assert f"Usage: taut {name} " in text
    assert f"\n  taut {name} " in text


# What would go on longer; the last one said counts.
MORE = {
    "taut-forward": ["--duration", "100ms"],
    "taut-noise": ["--duration", "100ms"],
    "taut-trace": ["--duration", "100ms"],
    "taut-inject": ["--duration", "100ms"],
}


@pytest.mark.smoke
@pytest.mark.root
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_example_of_a_program_works(
    program: str,
    place: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = find_binary(program)
    text = subprocess.run([path, "-h"], capture_output=True, text=True).stdout
    monkeypatch.setenv("TAUT_RUN_DIR", str(tmp_path_factory.mktemp("r")))

    for line in text.partition("Examples:\n")[2].splitlines():
        words = [*shlex.split(line)[1:], *MORE.get(program, [])]
        if words[0] == "list":
            words = ["list"]
        done = subprocess.run([path, *words], capture_output=True, text=True, cwd=place)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has what the examples name."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "examples").symlink_to(ROOT / "examples")
    # Few devices and packets: what a report of many says, tests/report says.
    small = [replace(v, trial=replace(v.trial, n_packets=2_000, n_cold=100)) for v in VARIANTS[:3]]
    for name in ("first", "second"):
        make_run(folder / "runs" / name, tuple(small), repetitions=1)
    analyse_run(RunDirectory(folder / "runs" / "first"))
    write_packed(folder / "runs" / "first", folder / "theirs.taut")
    packets = next(folder.glob("runs/first/trials/*/packets.parquet"))
    records = b"".join(part.tobytes() for part in restored(packets))
    (folder / "packets.bin").write_bytes(header_of_blocks() + records)
    (folder / "captures").mkdir()
    pair = made_pair(2_000)
    for side, frames in (("pre", pair.ingress), ("post", pair.egress)):
        capture = pcap_bytes(frames)
        write_capture(folder / ("before.pcap" if side == "pre" else "after.pcap"), capture)
        write_capture(folder / "captures" / f"linux-bridge-10kpps-{side}.pcap", capture)
    return folder


EXAMPLES = [(path, example) for path in PATHS for example in examples(path)]


def test_every_example_that_is_run_in_its_own_way_is_still_there() -> None:
    special = (AS_ROOT, WITH, ON_A_TREE, ELSEWHERE, STATUS)

    assert {line for of in special for line in of} <= {example for _, example in EXAMPLES}
    assert all((ROOT / where.partition(":")[0]).is_file() for where in ELSEWHERE.values())


def typed(example: str) -> list[str]:
    program, *words = takewhile(lambda word: word != ">", shlex.split(example))
    assert program == "taut"
    return words  # a redirection is the shell's


@contextmanager
def polling() -> Iterator[dict[str, str]]:
    """A process on one core; gives what the examples' process and cores are here."""
    core = max(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            # Pinned from outside: it is so before anybody looks, however late the program begins.
            os.sched_setaffinity(process.pid, {core})
            yield {"4242": str(process.pid), "2,3": str(core)}
        finally:
            process.kill()


@pytest.mark.smoke
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            line,
            marks=[
                *([pytest.mark.root] if line in AS_ROOT else []),
                *([pytest.mark.beside] if line.startswith(READS) else []),
            ],
        )
        for line in dict.fromkeys(line for _, line in EXAMPLES)
        if line not in ELSEWHERE | ON_A_TREE
    ],
)
def test_every_example_works(example: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    more = AS_ROOT.get(example, WITH.get(example, []))

    with polling() if "4242" in example else nullcontext({}) as here:
        words = [here.get(word, word) for word in typed(example)]
        assert run_command([*words, *more]) in STATUS.get(example, {0})


@pytest.mark.parametrize("example", ON_A_TREE)
def test_an_example_that_changes_a_machine_works_on_a_tree(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = tree(tmp_path, {"/sys/devices/system/cpu/online": "0-1\n"})
    for command in ("apply", "undo"):
        monkeypatch.setattr(f"taut.cli.host.{command}.Host", lambda: machine)
        monkeypatch.setattr(f"taut.cli.host.{command}.Writer", TreeWriter)
    # The cores of this machine are others': tests beside this one measure there.
    monkeypatch.setattr(leftovers, "refuse_others", lambda *_: None)
    monkeypatch.setattr(leftovers, "measuring_on", lambda *_, **__: nullcontext())
    monkeypatch.setattr("os.geteuid", lambda: 0)

    assert run_command([*typed(example), *ON_A_TREE[example]]) == 0


@pytest.mark.parametrize("example", ELSEWHERE)
def test_what_is_run_elsewhere_is_parsed_here(example: str) -> None:
    path = max((path for path, line in EXAMPLES if line == example), key=len)
    words = typed(example)[len(path) :]

    find(path).make_context(path[-1], words)
