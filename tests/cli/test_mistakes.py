"""What a beginner gets wrong: each answer is one line that names the thing and the remedy.

What takes a device, a full disk or another run under way is in tests/acceptance/test_bad_input.py
and tests/testbed/test_core_locks.py.
"""

import os
import shlex
from pathlib import Path

import pytest

from made_captures import made_pair, pcap_bytes, write_capture
from made_run import MadeTrial, MadeVariant, make_run
from taut.cli.main import run_command

SPEC = """\
name = "x"
duration = "1s"
trace = "off"
floor = false
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["10kpps"]
"""
CARDS = '[links.pci]\ngenerator = ["ffff:ff:1f.6", "ffff:ff:1f.7"]'
CHANGED = {
    "key": ("duration", "durration"),
    "place": ('name = "x"', 'name = "x"\nrates = ["10kpps"]'),
    "unit": ("10kpps", "10kp"),
    "bare-rate": ('"10kpps"', "10000"),
    "bare-time": ('"1s"', "1"),
    "negative": ('"1s"', '"-1s"'),
    "zero": ("10kpps", "0pps"),
    "small": ("rates", "frames = [60]\nrates"),
    "driver": ("taut_forward", "taut_foward"),
    "quotes": ('"x"', "x"),
    "bracket": ('"10kpps"]', '"10kpps"'),
    "nothing": (SPEC, ""),
    "card": ('"taut_forward"', f'"taut_forward"\nlink = "pci"\n{CARDS}'),
    "cable": ('"taut_forward"', '"taut_forward"\nlink = "pci"\n[links.pci]\ngenerator = 1'),
    "core": ("floor = false", "floor = false\n[cores]\ngenerator = 999"),
}
RATE = "not a number with a unit; write 100kpps"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Experiments that are wrong, a run, captures, and what is none of them."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "ok.toml").write_text(SPEC)
    for name, (old, new) in CHANGED.items():
        (folder / f"{name}.toml").write_text(SPEC.replace(old, new))
    (folder / "latin.toml").write_bytes(b'name = "\xe9"\n')
    (folder / "no-run").mkdir()
    (folder / "text.pcap").write_text("no capture")
    (folder / "ports.toml").write_text("ports = 1\n")
    (folder / "no-port.toml").write_text("ports = []\n")
    write_capture(folder / "ok.pcap", pcap_bytes(made_pair(10).ingress))
    write_capture(folder / "to.pcap", pcap_bytes(made_pair(10).egress))
    make_run(folder / "old", (MadeVariant("eager", "taut_forward", MadeTrial(2_000)),), (1e5,), 1)
    return folder


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run nowhere.toml", "nowhere.toml: no such file; examples/ has experiments"),
        ("run old", "old: a folder; name an experiment's file, as `taut init` writes"),
        ("run key.toml", "key.toml:2:1: durration: unknown key; did you mean 'duration'?"),
        ("run place.toml", "place.toml:2:1: rates: unknown key here; it belongs in [[traffic]]"),
        ("run unit.toml", f"unit.toml:8:1: traffic[0].rates[0]: rate '10kp': {RATE}"),
        ("run bare-rate.toml", "10000 has no unit; write it as text, like '100kpps'"),
        ("run bare-time.toml", "duration: 1 has no unit; write it as text, like '10s'"),
        ("run negative.toml", "duration '-1s': below zero; write 10s"),
        ("run zero.toml", "rate '0pps': nothing would be sent; give a rate above 0"),
        ("run small.toml", "60 B: a frame holds headers, probe and FCS, 64 to 1518 B"),
        ("run driver.toml", "unknown driver 'taut_foward'; did you mean 'taut_forward'?"),
        ("run quotes.toml", "quotes.toml:1:8: not TOML: Invalid value; text stands in quotes"),
        ("run bracket.toml", "not TOML: Unclosed array; `taut init` writes one that is"),
        ("run nothing.toml", "name: missing; it has no default, so write it"),
        ("run latin.toml", "latin.toml: not text (UTF-8); name an experiment's TOML file"),
        ("run ok.toml --set traffic.constant.rates=[10kp]", f"rate '10kp': {RATE}"),
        ("run ok.toml --set traffic.constnat.flows=2", "did you mean 'constant'?"),
        ("run ok.toml --set rates=10kpps", "rates: unknown key here; it belongs in [[traffic]]"),
        ("run card.toml", "link pci: ffff:ff:1f.6: no such device; `lspci -D` lists them"),
        ("run card.toml --set links.pci.generator=eth0", "generator: 2 PCI addresses wanted"),
        ("run ok.toml --only eagre", "--dry-run lists them"),
        ("run ok.toml --resume", "--resume: which run? give its directory with --out"),
        ("run ok.toml --dry-rnu", "did you mean '--dry-run'? see `taut run -h`"),
        ("rnu ok.toml", "unknown command 'rnu'; did you mean 'run'?"),
        ("report no-run", "no-run: no trials; give a run directory of `taut run`"),
        ("report nowhere", "nowhere: no such run directory; give one that `taut run` wrote"),
        ("explain no-run", "no-run: no whole trial; name a run directory of `taut run`"),
        ("explain old --over p101", "--over p101: not a percentile; say p99.9, or a time"),
        ("compare old old", "old: the same run twice; name two, `taut runs` lists"),
        ("run ok.toml --images --no-report", "--images and --no-report: one of them"),
        ("compare old no-run --images", "--images: they lie beside a report; give its file"),
        ("compare old no-run", "no-run: no trials; give a run directory of `taut run`"),
        ("trend old", "old: one run, or a folder without two of one experiment; a trend takes two"),
        ("trend old old", "old: the same run twice; name each once"),
        ("trend old no-run", "no-run: no trials; give a run directory of `taut run`"),
        ("trend old no-run --images", "--images: they lie beside a page; give its file with"),
        ("runs nowhere", "nowhere: no such folder; `taut run` and `taut quick` make runs/"),
        ("init ok", "ok.toml: is there already; name another: taut init NAME"),
        ("init nowhere/x", "nowhere/x.toml: cannot be written: No such file or directory; name"),
        ("reproduce debs19", "unknown experiment 'debs19'; did you mean 'debs20'?"),
        ("host plan --profile max", "no profile 'max'; there are minimal, recommended, extreme"),
        ("host plan --cores a", "cores 'a': 'a' is no core; write a list like 0-3,8"),
        ("host plan --only R99", "--only R99: no such check or remedy; did you mean"),
        ("host plan --only R24-", "--only R24-: no such check or remedy; did you mean R24?"),
        ("host plan --only R24-soon", "--only R24-soon: no such check or remedy; did you mean"),
        ("host plan --cores ''", "--cores '': names no core; write a list like 2-3, or leave it"),
        ("host audit --cores ''", "--cores '': names no core; write a list like 2-3, or leave it"),
        ("host noise --cores ' '", "--cores ' ': names no core; write a list like 2-3, or leave"),
        ("host cmdline --cores ''", "--cores '': names no core; write a list like 2-3, or leave"),
        ("explain 1 --cores ''", "--cores '': names no core; write a list like 2-3, or leave it"),
        ("host audit --interface nope", "--interface nope: no such network interface; `ls /sys"),
        ("host audit --interface ''", "--interface '': no such network interface; `ls /sys/class"),
        ("host plan --only ,", "--only ',': names nothing; name checks or remedies"),
        ("trim", "trim: name an experiment, or a process with --pid"),
        ("trim ok.toml --cores 1,2,3", "--cores 1,2,3: name the device's core, or the device's"),
        ("completion tcsh", "no shell 'tcsh'; there are bash, zsh, fish"),
        ("forward nowhere.toml", "nowhere.toml: No such file or directory; give a TOML file"),
        ("run", "run: missing argument 'SPEC'; see `taut run -h`"),
        ("run ok.toml --out", "run: option '--out' requires an argument; see `taut run -h`"),
        ("run ok.toml --out ''", "--out '': names nothing; write a name, or leave it out"),
        ("run ''", "SPEC '': names nothing; write a name"),
        ("report \udcff", "'\\udcff': not UTF-8, so no Parquet file can be there; name another"),
        ("analyze ok.pcap to.pcap --json --parquet \udcff", "not UTF-8, so no Parquet file can"),
        ("run ok.toml ok.toml", "run: got unexpected extra argument (ok.toml); see `taut run -h`"),
        ("run ok.toml --no-json", "did you mean one of '--json', '--no-report'? see `taut run -h`"),
        ("run ok.toml --json=yes", "run: option '--json' does not take a value; see"),
        ("run ok.toml --engine duckdb", "run: no such option '--engine'; see `taut run -h`"),
        ("run ok.toml --only ''", "--only '': names no trial; --dry-run lists them"),
        ("run ok.toml --set a=", "a: unknown key; known are cores, "),
        ("run ok.toml --set duration=2s,3s", "duration '2s,3s': not a number with a unit; write"),
        ("run ok.toml --set traffic=", "traffic: '': a list is wanted, in brackets: [...]"),
        ("run ok.toml --set traffic.constant.rates=[]", "at least 1 wanted, got 0"),
        ("run ok.toml --trace tail --no-trace", "--trace and --no-trace: one of them"),
        *(
            (f"{name} --dry-run --json", "--dry-run and --json: one of them; a plan is printed")
            for name in (
                *("run ok.toml", "search ok.toml", "soak ok.toml", "rfc 2544 ok.toml"),
                "reproduce debs20",
            )
        ),
        ("run cable.toml", "link pci: generator: 2 PCI addresses wanted, got 1"),
        ("quick --out ''", "--out '': names nothing"),
        ("quick now", "quick: got unexpected extra argument (now); see `taut quick -h`"),
        ("init ''", "init '': no name of an experiment; small letters, digits, _, . and -"),
        ("init 'a b'", "init 'a b': no name of an experiment; small letters"),
        ("init ok.toml/x", "ok.toml/x.toml: cannot be written: Not a directory; name one that can"),
        ("reproduce hipnet21 --captures ok.pcap", "ok.pcap: no such folder; give one that holds"),
        ("analyze ok.pcap", "analyze: missing argument 'EGRESS'; see `taut analyze -h`"),
        ("analyze ok.pcap to.pcap --skip 1", "duration '1': not a number with a unit; write 10s"),
        ("analyze ok.pcap to.pcap --engine mysql", "engine mysql: not known; choose one of"),
        ("analyze ok.pcap to.pcap --engine-url x", "duckdb: runs inside taut and takes no URL"),
        ("analyze ok.pcap to.pcap --name a/b", "--name 'a/b': it names folders, too"),
        ("analyze ok.pcap to.pcap --name ''", "--name '': it names folders, too"),
        ("analyze ok.pcap to.pcap --parquet no-run --json", "--parquet no-run: a folder; name a f"),
        ("analyze ok.pcap ./ok.pcap", "analyze: ok.pcap: the same file twice, whose frames would"),
        ("analyze - - --json", "analyze: only one of the captures can be read from stdin"),
        ("report", "report: missing argument 'RUN...'; see `taut report -h`"),
        ("report old --out no-run", "--out no-run: a folder; name a file"),
        ("report old --out ''", "--out '': names nothing"),
        ("report ok.toml", "ok.toml: no such run directory; give one that `taut run` wrote"),
        ("compare old", "compare: missing argument 'RUN_B'; see `taut compare -h`"),
        ("compare old no-run --out no-run", "--out no-run: a folder; name a file"),
        ("runs ''", "DIR '': names nothing; write a name, or leave it out"),
        ("explain old --over 99.9", "--over 99.9: duration '99.9': not a number with a unit; "),
        ("explain old --perfetto no-run", "--perfetto no-run: a folder; name a file"),
        ("explain old --cores 1", "--cores: goes with a process or --self-test, not with a run"),
        ("explain old --cause timer", "--cause: goes with --self-test, not with a run"),
        ("explain 999999999 --trial x", "--trial: goes with a run, not with a process"),
        ("explain --self-test --over p99", "--over: goes with a run, not with --self-test"),
        (
            "explain --self-test --details",
            "--details: goes with a run or a process, not with",
        ),
        # Nobody disturbs a core where this is not refused: no acts are none.
        ("explain --self-test --cores 3,1 --acts 0", "--cores 3,1: --self-test disturbs one core"),
        ("explain old --self-test", "--self-test: makes its own runs; leave the run or process"),
        ("doctor --clean=yes", "doctor: option '--clean' does not take a value; see"),
        ("host audit --root nowhere", "--root nowhere: no such folder; name one that holds"),
        ("host lint --file no-run", "--file no-run: a folder; name a file"),
        ("host plan --out x", "taut host plan --out: holds boot configuration; add --boot"),
        ("host hold --seconds -1", "invalid value for '--seconds': -1.0 is not in the range"),
        ("trim --pid -1", "--pid -1: no process; `pgrep -l NAME` finds it"),
        ("forward ports.toml", "ports.toml: ports: 1: a list is wanted, in brackets"),
        ("forward no-port.toml", "no-port.toml: ports: at least 1 wanted, got 0"),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    line: str,
    said: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    words = shlex.split(line)
    monkeypatch.setattr("sys.argv", ["taut", *words])
    before = sorted(folder.rglob("*"))

    assert run_command(words) == 2

    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("taut: ")
    assert said in err
    assert sorted(folder.rglob("*")) == before


@pytest.mark.smoke
@pytest.mark.beside
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run ok.toml --out old", "old: not empty; give another --out, or complete it: --resume"),
        ("quick --out old", "old: not empty; give another --out, or leave it out"),
        ("trim ok.toml --out old --dry-run", "old: not empty; give another --out, or leave it out"),
        ("run ok.toml --out \udcff/x", "not UTF-8, so no Parquet file can be there; name"),
        ("analyze ok.pcap to.pcap --out \udcff/x", "not UTF-8, so no Parquet file can be"),
        ("run ok.toml --out text.pcap", "text.pcap: not a folder; give another --out"),
        (
            "run ok.toml --out new --set cores.device=999",
            "core 999 cannot be used here; these can: ",
        ),
        ("trim core.toml --out new --dry-run --cores 0", "cores.generator: core 999 cannot be"),
        ("run ok.toml --out new --set traffic.constant.schedule=poison", "did you mean 'poisson'?"),
        ("analyze text.pcap ok.pcap --json", "text.pcap: is no capture: begins with 0x"),
        ("analyze nowhere.pcap ok.pcap --json", "nowhere.pcap: cannot be read: No such file"),
        ("analyze no-run ok.pcap --json", "name a pcap or pcapng file"),
    ],
)
def test_with_the_programs_it_is_one_line_too(
    line: str,
    said: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    test_a_mistake_is_answered_in_one_line(line, said, folder, monkeypatch, capsys)


def test_programs_that_were_not_built(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAUT_BIN_DIR", str(folder))

    line, said = "run ok.toml", "taut-generate: program not found; run `make build` or set TAUT"
    test_a_mistake_is_answered_in_one_line(line, said, folder, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("host apply --yes", "taut host apply: needs root; run it with sudo"),
        ("host undo", "taut host undo: needs root; run it with sudo"),
        ("host effect R24", "effect: changes this host for a while: run as root"),
        ("trim ok.toml --set duration=20s", "run as root, or --dry-run"),
    ],
)
def test_without_root(
    line: str,
    said: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    test_a_mistake_is_answered_in_one_line(line, said, folder, monkeypatch, capsys)
