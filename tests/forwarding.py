"""taut-forward, started and stopped over virtual ports."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from taut.core.binaries import find_binary

READY = "taut-forward: ready\n"
TIMEOUT_S = 60


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start taut-forward and wait until it is ready."""
    process = subprocess.Popen(
        [str(find_binary("taut-forward")), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if line != READY:
        process.kill()
        pytest.fail(f"not ready: {process.communicate()}")
    return process


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(find_binary("taut-forward")), *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        **options,
    )


def stop(process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> None:
    process.send_signal(number)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, (process.returncode, errors)


def runtime_folders() -> Iterator[Path]:
    """DPDK's runtime folders of this test's runs."""
    bases = [Path("/run/dpdk"), Path("/tmp/dpdk")]
    if "XDG_RUNTIME_DIR" in os.environ:
        bases.append(Path(os.environ["XDG_RUNTIME_DIR"]) / "dpdk")
    return (folder for base in bases for folder in base.glob(f"taut-{os.environ['TAUT_RUN']}-*"))


def generate(
    out: Path, tx: str, rx: str, *arguments: str, deadline: str = "20s"
) -> dict[str, dict[str, float]]:
    """Send through ports and give the generator's summary.

    A device that stands still for seconds has the packets back late; one that drops them, never.
    """
    subprocess.run(
        [
            str(find_binary("taut-generate")),
            *("--tx", tx, "--rx", rx, "--rate", "20kpps", "--frame", "64"),
            *("--duration", "500ms", "--warm-up", "0s", "--out", str(out), *arguments),
            *("--deadline", deadline),
        ],
        check=True,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    summary: dict[str, dict[str, float]] = json.loads((out / "generator.json").read_text())
    return summary
