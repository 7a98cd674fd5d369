"""Many routes, rules and connections: taut-forward asks for their memory by itself."""

import json
import random
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

import pytest

from forwarding import READY, run
from function_input import write_routes, write_rules

pytestmark = pytest.mark.smoke


def started(nf: str) -> dict[str, Any]:
    """Start it, on pages that no other test may have taken; give what the function counted."""
    ports = ("--port", "ring:a", "--port", "ring:b")
    done = run(*ports, "--nf", nf, "--duration", "10ms", "--stats", "-", "--", "--no-huge")
    assert done.returncode == 0, done.stderr
    (function,) = json.loads(done.stdout.removeprefix(READY))["nfs"]
    return dict(function)


@pytest.mark.parametrize("n", [1_000, 10_000])
@pytest.mark.parametrize("is_stateful", [False, True])
def test_many_rules(run_dir: Path, tmp_path: Path, n: int, is_stateful: bool) -> None:
    rules = write_rules(tmp_path, n, is_stateful=is_stateful)

    function = started(f"firewall:rules={rules},connections=1000000")

    assert run_dir.is_dir()
    assert len(function["rules"]) == n
    assert (function["connections"] is not None) == is_stateful


def networks(n: int) -> Iterator[str]:
    """Give networks of all lengths that routers know, half of them of IPv6."""
    rng = random.Random(15)
    for i in range(n):
        if i % 2:
            length = rng.randrange(24, 129)
            address = (0x20010DB8 << 96) | rng.getrandbits(96)
            yield str(IPv6Network((address >> 128 - length << 128 - length, length)))
        else:
            length = rng.randrange(12, 33)
            address = (20 << 24) | rng.getrandbits(26)
            yield str(IPv4Network((address >> 32 - length << 32 - length, length)))


def test_many_routes(run_dir: Path, tmp_path: Path) -> None:
    routes = write_routes(tmp_path, 50_000)
    file = tmp_path / "routes-50000"
    with file.open("a") as more:
        more.writelines(f"blackhole {name} metric {i}\n" for i, name in enumerate(networks(50_000)))

    function = started(f"router:{routes.options}")

    assert run_dir.is_dir()
    assert function["forwarded"] == 0
