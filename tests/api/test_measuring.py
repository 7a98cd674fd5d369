"""Experiments from Python: a dict is what a file would say, and errors are the command's lines."""

import shutil
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import taut
from taut.api import measuring
from taut.api.measuring import read_experiment
from taut.cli.main import run_command
from taut.experiment.spec import spec_hash
from taut.experiment.toml_text import toml_document

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples/first-look.toml"
LOW = {"name": "low", "profile": "minimal"}
SMALL = {"name": "x", "device": [{"driver": "loopback"}], "traffic": [{"rates": ["10kpps"]}]}


@pytest.mark.parametrize("file", sorted(ROOT.glob("examples/*.toml")), ids=lambda file: file.stem)
def test_a_dict_of_a_files_keys_is_the_same_experiment(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tomllib.loads(file.read_text())
    monkeypatch.chdir(file.parent)

    spec, origin = read_experiment(document, None)

    assert tomllib.loads(origin.text) == document
    assert spec_hash(spec) == spec_hash(read_experiment(file.name, None)[0])


def test_odd_text_and_keys_survive() -> None:
    odd = {"a b": 'say "µ"\n\x7f\\', "c": [{"d.e": True, "f": 1.5}], "g": FILE, "h": (1, 2)}

    assert tomllib.loads(toml_document(odd)) == {**odd, "g": str(FILE), "h": [1, 2]}


def test_overrides_are_those_of_set() -> None:
    spec, origin = read_experiment(
        FILE, {"duration": "2s", "traffic.constant.rates": ["10kpps", "20kpps"]}
    )

    assert origin.overrides == ('duration="2s"', 'traffic.constant.rates=["10kpps", "20kpps"]')
    assert spec.duration_ns == 2_000_000_000


@pytest.mark.parametrize(
    ("experiment", "overrides", "line"),
    [
        ({**SMALL, "durationn": "1s"}, {}, "experiment: durationn: unknown key; did you mean"),
        ({**SMALL, "duration": None}, {}, "duration: NoneType has no form in an experiment"),
        ({**SMALL, "device": [{"driver": "nix"}]}, {}, "experiment: device[0]: unknown driver"),
        (SMALL, {"traffic.none.rates": ["1kpps"]}, "--set traffic.none.rates"),
    ],
)
def test_a_dict_that_is_no_experiment_is_one_line(
    experiment: dict[str, object], overrides: dict[str, object], line: str
) -> None:
    with pytest.raises(taut.InputError, match=r"^[^\n]+$") as raised:
        taut.run(experiment, overrides=overrides)

    assert line in str(raised.value)


def test_a_run_that_is_to_go_on_must_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measuring, "run_plan", None)
    with pytest.raises(taut.InputError, match=r"^resume: which run\? give its directory as out$"):
        taut.run({**SMALL, "duration": "1s"}, resume=True)

    assert not list(tmp_path.iterdir())


def test_a_run_that_has_no_room_on_the_disk_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(*_: object, **__: object) -> None:
        raise ConnectionError

    said: list[str] = []
    monkeypatch.setattr(measuring, "require", lambda _: None)
    monkeypatch.setattr(measuring, "run_plan", begin)
    # A million packets of 12 bytes each, 48 more meanwhile, and 2 MB.
    asked = {**SMALL, "duration": "100s", "warm_up": "0s", "record": "all", "trace": "off"}
    usage = shutil.disk_usage(tmp_path)

    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=5 * 10**7))
    with pytest.raises(ConnectionError):
        taut.run(asked, tmp_path / "x", say=said.append)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=2 * 10**7))
    with pytest.raises(taut.InputError, match=r"but only 20 MB are free; make room"):
        taut.run(asked, tmp_path / "x")

    assert len(said) == 1
    assert said[0].startswith("warning: ")
    assert "but only 50 MB are free" in said[0]


@pytest.mark.parametrize(
    ("ask", "arguments"),
    [
        (lambda: taut.run("nothing.toml"), ["run", "nothing.toml"]),
        (lambda: taut.run(FILE, only="no-such*"), ["run", str(FILE), "--only", "no-such*"]),
        (lambda: taut.explain("nothing"), ["explain", "nothing"]),
        (lambda: taut.explain("x", over="late"), ["explain", "x", "--over", "late"]),
        (lambda: taut.explain(999999999), ["explain", "999999999"]),
        (lambda: taut.load("nothing"), ["report", "nothing"]),
        (
            lambda: taut.trim(FILE, target="p98"),
            ["trim", str(FILE), "--target", "p98"],
        ),
        (lambda: taut.trim(FILE, only="X99"), ["trim", str(FILE), "--only", "X99"]),
        (lambda: taut.trim(FILE, profile="all"), ["trim", str(FILE), "--profile", "all"]),
        (lambda: taut.trim(FILE), ["trim", str(FILE)]),
    ],
)
def test_an_error_says_the_line_of_the_command(  # type: ignore[no-untyped-def]
    ask, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(taut.InputError) as raised:
        ask()
    status = run_command(arguments)

    assert capsys.readouterr().err == f"taut: {raised.value}\n"
    assert raised.value.exit_status == status


@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("trim", lambda: taut.trim(SMALL, yes=True)),
        ("[[host]]", lambda: taut.run({**SMALL, "duration": "1s", "host": [LOW]})),
    ],
)
def test_what_changes_the_host_is_refused_outside_the_main_thread(
    what: str, call: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor() as threads, pytest.raises(taut.InputError) as caught:
        threads.submit(call).result()

    said = f"{what}: changes the host, so it needs the main thread; call it there"
    assert str(caught.value) == said
    assert not list(tmp_path.iterdir())
