"""taut-forward's router as a user meets it: files that are wrong, and the counters it leaves."""

import json
from pathlib import Path

import pytest

from forwarding import READY, run

pytestmark = [pytest.mark.smoke, pytest.mark.beside]

NEIGHBOURS = "192.0.2.1 dev 1 lladdr 02:00:00:00:00:01\n"


def forward(folder: Path, **texts: str) -> tuple[int, str, str]:
    """Run a router of these files for a moment; give its status, its output and its errors."""
    for name, text in texts.items():
        (folder / name).write_text(text)
    options = ",".join(f"{name}={folder / name}" for name in texts)
    done = run(
        *("--port", "ring:a", "--port", "ring:b", "--nf", f"router:{options}"),
        *("--duration", "10ms", "--stats", "-", "--", "--no-huge"),
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("routes", "10.0.0.0/8 via 192.0.2.1 dev 1\n10.0.0.1/8 dev 1\n", "2:1: 10.0.0.1/8: bits"),
        ("routes", "10.0.0.0/8 via 192.0.2.1 dev 2\n", "1:30: dev 2: no such port; ports are"),
        ("routes", "10.0.0.0/8 via 192.0.2.7 dev 1\n", "1:12: via 192.0.2.7: no neighbour at"),
        ("routes", "\t10.0.0.0/8 nexthop via 192.0.2.1 dev 1\n", "1:13: nexthop: cannot be hon"),
        ("neighbours", "192.0.2.1 dev 1 FAILED\n", "1:17: FAILED: cannot be honoured"),
        ("addresses", "192.0.2.1/24 dev\n", "1:17: dev has no value; write the number"),
    ],
)
def test_a_mistake_is_told_by_file_line_and_column(
    run_dir: Path, tmp_path: Path, name: str, text: str, line: str
) -> None:
    status, output, errors = forward(tmp_path, **{"neighbours": NEIGHBOURS, name: text})

    assert run_dir.is_dir()
    assert (status, output) == (2, "")
    assert errors.startswith(f"taut-forward: {tmp_path / name}:{line}")
    assert errors.count("\n") == 1


def test_a_router_leaves_its_counters(run_dir: Path, tmp_path: Path) -> None:
    status, output, _ = forward(
        tmp_path, routes="10.0.0.0/8 via 192.0.2.1 dev 1\n", neighbours=NEIGHBOURS
    )

    assert run_dir.is_dir()
    assert status == 0
    (router,) = json.loads(output.removeprefix(READY))["nfs"]
    assert router["forwarded"] == 0
    assert router["not_forwarded"]["no_route"] == 0
    assert router["icmp_errors"] == {
        "sent": 0,
        "not_allowed": 0,
        "over_rate": 0,
        "no_way_back": 0,
    }
