import json

import pytest
import typer
from typer.testing import CliRunner

from taut.cli.host import effect as module
from taut.core.errors import InputError, InterruptedRun
from taut.host.noise import Noise, NoiseRequest, parse_noise


def document(priority: int, stop: str = "duration") -> dict:
    gaps = 10 if priority else 4000
    over = {1_000: gaps, 10_000: gaps, 100_000: 1, 1_000_000: 0}
    return {
        "stop": stop,
        "threshold_ns": 1000,
        "priority": priority,
        "cores": [
            {
                "core": 1,
                "samples": 1000,
                "duration_ns": 1_000_000_000,
                "period_ns": {},
                "over": [{"threshold_ns": ns, "gaps": n} for ns, n in over.items()],
                "gaps": {"n": gaps, "total_ns": 50_000_000, "not_logged": 0},
                "worst": {"ns": 123_000, "at_ns": 0},
            }
        ],
    }


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[NoiseRequest]:
    """Answer for taut-noise; keep what was asked."""
    requests: list[NoiseRequest] = []

    def measure(request: NoiseRequest) -> Noise:
        requests.append(request)
        return parse_noise(document(request.priority))

    monkeypatch.setattr(module, "measure_noise", measure)
    return requests


def run(*arguments: str):
    app = typer.Typer()
    app.command()(module.effect)
    return CliRunner().invoke(app, [*arguments, "--settle", "0s"])


def test_a_priority_is_measured_against_none(asked: list[NoiseRequest]) -> None:
    result = run("SCHED_FIFO:7", "--repetitions", "8", "--duration", "1s", "--seed", "3", "--json")

    found = json.loads(result.stdout)
    assert sorted(request.priority for request in asked) == [0] * 8 + [7] * 8
    assert found["priority"] == {"off": 0, "on": 7}
    assert found["seed"] == 3
    assert len(found["orders"]) == 8
    first, *_, worst = found["figures"]
    assert (first["verdict"], first["difference"]) == ("less", -3990)
    assert (worst["verdict"], worst["low"], worst["high"]) == ("no effect shown", 0, 0)


def test_the_table_names_what_is_known_and_how_it_was_judged(asked: list[NoiseRequest]) -> None:
    said = run("SCHED_FIFO", "--repetitions", "8").stdout

    assert "…" not in said
    assert max(map(len, said.splitlines())) <= 80
    assert "known:" in said
    assert "Hodges-Lehmann" in said
    (worst,) = [line for line in said.splitlines() if "worst gap" in line]
    assert worst.rstrip().endswith("no effect shown")


def test_an_interrupt_says_that_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = parse_noise(document(0, "signal"))
    monkeypatch.setattr(module, "measure_noise", lambda request: stopped)

    result = run("SCHED_FIFO")

    assert isinstance(result.exception, InterruptedRun)
    assert "all is as it was" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("SCHED_FIFO", "--repetitions", "3"), "8 or more"),
        (("SCHED_FIFO", "--cores", "4000"), "not online"),
        (("SCHED_FIFO", "--cores", ""), "names no core"),
        (("SCHED_FIFO", "--duration", "5"), "duration"),
        (("nothing",), "no check's id"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(
    asked: list[NoiseRequest], arguments: tuple[str, ...], said: str
) -> None:
    result = run(*arguments)

    assert isinstance(result.exception, InputError)
    assert said in str(result.exception)
    assert asked == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.00001, "~0"),
        (0.0123, "0.0123"),
        (-1.2345, "-1.23"),
        (123.4, "123"),
        (9999, "9999"),
        (-946_980, "-947k"),
        (12_300_000, "12M"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert module._short(value) == text
