"""A network function of one's own: built as its file tells, loaded, measured, counted, refused."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from acceptance_run import passed, run_taut
from forwarding import TIMEOUT_S, generate, run, start, stop
from taut.core.binaries import sha256_of

pytestmark = pytest.mark.smoke

ROOT = Path(__file__).parents[2]
TOLD = re.compile(r"^ \*\t(cc .*?)^ \*$", re.MULTILINE | re.DOTALL)
PROBES_PORT = 9  # where taut-generate sends its UDP

SPEC = """
name = "own"
duration = "300ms"
warm_up = "100ms"
deadline = "5s"
floor = false
[[device]]
driver = "taut_forward"
name = "passing"
options = { nf = ["./mine.so:port=53", "skeleton"] }
[[device]]
driver = "taut_forward"
name = "dropping"
options = { nf = ["skeleton", "./mine.so:port=9"] }
[[traffic]]
rates = ["10kpps"]
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built elsewhere by the command that it tells to type."""
    if shutil.which("cc") is None or shutil.which("pkg-config") is None:
        pytest.skip("no C compiler or pkg-config")
    folder = tmp_path_factory.mktemp("own")
    (folder / "include").symlink_to(ROOT / "include")
    source = shutil.copy(ROOT / "examples/port_filter.c", folder)
    [command] = TOLD.findall(Path(source).read_text())
    lines = command.replace("\n *", "\n").replace("examples/", "")
    subprocess.run(["sh", "-c", lines], cwd=folder, check=True, timeout=TIMEOUT_S)
    return folder / "port_filter.so"


def test_what_it_drops_is_counted_by_its_reasons(run_dir: Path, tmp_path: Path, own: Path) -> None:
    stats = tmp_path / "stats.json"
    process = start(
        *("--port", "memif:a", "--port", "memif:b", "--stats", str(stats)),
        *("--nf", f"{own}:port={PROBES_PORT}", "--nf", "null"),
    )

    out = tmp_path / "out"
    sent = generate(out, "memif:a", "memif:b", deadline="100ms")["counters"]["sent"]
    stop(process)

    counted = json.loads(stats.read_text())
    assert sent > 0
    assert counted["ports"][0]["rx"] == sent
    assert counted["ports"][1]["tx"] == 0
    reasons = {"filtered": sent, "truncated": 0}
    assert counted["nfs"] == [
        {"name": "port_filter", "in": sent, "dropped": sent, "held": 0, "dropped_by": reasons},
        {"name": "null", "in": 0, "dropped": 0, "held": 0, "dropped_by": {}},
    ]


def test_an_experiment_measures_one_that_lies_beside_its_file(tmp_path: Path, own: Path) -> None:
    mine = shutil.copy(own, tmp_path / "mine.so")

    measured = passed(run_taut(tmp_path, SPEC))

    trials = {trial.meta["dut"]["name"]: trial.meta for trial in measured.trials}
    for name, at, share in (("passing", 0, 0), ("dropping", 1, 1)):
        sent = trials[name]["generator"]["counters"]["sent"]
        function = trials[name]["dut"]["stats"]["nfs"][at]
        assert function["name"] == "port_filter"
        assert function["in"] == sent
        assert function["dropped"] == function["dropped_by"]["filtered"] == sent * share
        assert f"mine.so: SHA-256 {sha256_of(mine)}" in trials[name]["dut"]["notes"]


@pytest.mark.beside
def test_an_experiment_with_one_that_cannot_be_loaded_is_refused_in_one_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.so").write_text("int main;\n")

    refused = run_taut(tmp_path, SPEC)

    assert refused.status == 2
    assert refused.stderr.count("\n") == 1
    assert (
        f"device passing: taut-forward: --nf {tmp_path}/mine.so: file too short" in refused.stderr
    )
    assert not refused.path.exists()


@pytest.mark.beside
def test_check_loads_it_and_reads_its_options(own: Path) -> None:
    good = run("--port", "ring:a", "--nf", f"{own}:port=53", "--check")
    missing = run("--port", "ring:a", "--nf", str(own), "--check")

    assert (good.returncode, good.stdout, good.stderr) == (0, "", "")
    assert missing.returncode == 2
    assert missing.stderr == (
        "taut-forward: port_filter: port: missing; UDP port whose datagrams are dropped\n"
    )


@pytest.mark.beside
@pytest.mark.root
def test_root_loads_none_that_everybody_may_write_to(tmp_path: Path, own: Path) -> None:
    open_to_all = Path(shutil.copy(own, tmp_path))
    open_to_all.chmod(0o666)

    done = run("--port", "ring:a", "--nf", str(open_to_all), "--check")

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "everybody may write to it, and root would run it; chmod o-w it" in done.stderr
