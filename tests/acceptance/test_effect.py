"""`taut host effect` for real: a short run, what it leaves on the host, and its books."""

import json
import subprocess
from pathlib import Path

import pytest

from acceptance_run import TAUT
from taut.host.host import Host
from taut.host.journal import Journal

pytestmark = [pytest.mark.acceptance, pytest.mark.root, pytest.mark.timeout(900)]

INTERVAL = Path("/proc/sys/vm/stat_interval")
N_PAIRS = 8


def settings() -> dict[str, str]:
    """What the set below changes: a sysctl, and where threads may run."""
    kernel = {
        str(path): (path / "status").read_text().partition("Cpus_allowed:")[2].split()[0]
        for path in Path("/proc").glob("[0-9]*")
        if "kswapd" in _name(path)
    }
    return {str(INTERVAL): INTERVAL.read_text(), **kernel}


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text()
    except OSError:
        return ""


@pytest.mark.long
def test_every_state_is_verified_the_books_agree_and_the_host_is_given_back(tmp_path: Path) -> None:
    if Journal(Host()).is_there:
        pytest.skip("an apply made by hand is in force")
    other = int(INTERVAL.read_text()) + 7
    before = settings()
    word = f"vm.stat_interval={other},R24"

    done = subprocess.run(
        [
            *(*TAUT, "host", "effect", word, "--repetitions", str(N_PAIRS)),
            *("--duration", "300ms", "--set", "warm_up=100ms", "--set", "deadline=100ms"),
            *("--wait", "--json", "--out", str(tmp_path / "run")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    assert settings() == before
    assert not Journal(Host()).is_there
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "run/effect.json").read_text())
    trials = [json.loads(p.read_text()) for p in (tmp_path / "run").glob("trials/*/trial.json")]
    assert len(trials) == 2 * N_PAIRS
    for trial in trials:
        host = trial["host"]
        # Threads may end meanwhile: not every change of R24 stays in force.
        assert (host["before"]["n_changes"] > 1) == (host["name"] == word)
        assert (host["after"]["n_in_force"] >= 1) == (host["name"] == word)
        assert host["before"]["lost"] == host["after"]["lost"] == []
    orders = [t["host"]["name"] == word for t in sorted(trials, key=lambda t: t["index"])]
    assert orders[1] == orders[2] != orders[0] == orders[3]  # A B B A
    (one,) = document["sets"]
    assert [figure["name"] for figure in one["figures"]] == ["p50", "p99", "p99.9", "time stolen"]
    for figure in one["figures"]:
        # A run in which the machine took most of the time supports no percentile.
        of_runs = [len(figure[f"{state}_of_repetitions"]) for state in ("off", "on")]
        assert max(of_runs) <= N_PAIRS
        assert figure["name"] != "time stolen" or of_runs == [N_PAIRS, N_PAIRS]
        effect = figure["effect"]
        if effect is None:
            assert min(of_runs) < N_PAIRS
            continue
        assert max(0, sum(of_runs) - N_PAIRS) <= effect["n_pairs"] <= min(of_runs)
        assert effect["low"] <= effect["estimate"] <= effect["high"]
        assert (figure["shown"] == "no") == (
            effect["low"] <= (figure["scale"] == "ratio") <= effect["high"]
        )
    counters = [trial["generator"]["counters"] for trial in trials]
    # After the warm-up, as the percentiles.
    sent = sum(c["sent"] - (c["cold"] - c["unsent_cold"]) for c in counters)
    assert one["sent"]["off"] + one["sent"]["on"] == sent
