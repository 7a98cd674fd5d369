"""taut-forward that polls, sleeps, or both: what goes in comes out, and sleeping takes less CPU."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forwarding import generate, run, start, stop
from taut.records import layout

pytestmark = [pytest.mark.smoke, pytest.mark.beside]

WAYS = ["poll", "interrupt", "adaptive", "adaptive:50us"]
NAP_S = 0.1
"""The longest sleep: how long a packet waits for one whom it does not wake."""


def forward(tmp_path: Path, wait: str, *arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Send some packets through a virtio link; give both programs' counters."""
    stats = tmp_path / f"{wait}.json"
    process = start(
        *("--port", "vhost:a", "--port", "vhost:b", "--wait", wait, "--stats", str(stats)),
        *arguments,
    )
    core = max(os.sched_getaffinity(0))
    sent = generate(
        *(tmp_path / "out", "virtio:a", "virtio:b", "--rate", "1kpps"),
        *("--device-core", str(core), "--device-pid", str(process.pid)),
    )
    stop(process)
    return sent, json.loads(stats.read_text())


def whole(device: dict[str, Any]) -> dict[str, int]:
    return {"elapsed_ns": device["duration_ns"]}


@pytest.mark.parametrize("wait", WAYS)
def test_every_packet_comes_through_or_is_counted(run_dir: Path, tmp_path: Path, wait: str) -> None:
    sent, device = forward(tmp_path, wait)

    counters, ports = sent["counters"], device["ports"]
    assert counters["sent"] > 0
    assert ports[0]["rx"] == counters["sent"]
    assert ports[1]["tx"] == counters["matched"] + counters["late"]
    assert ports[1]["tx"] + ports[1]["tx_refused"] == ports[0]["rx"]
    assert ("sleep" in device) == (wait != "poll")
    assert not list(run_dir.iterdir())


@pytest.mark.timing
def test_one_that_sleeps_takes_less_cpu_and_its_sleep_is_no_gap(
    run_dir: Path, tmp_path: Path
) -> None:
    assert run_dir.is_dir()
    watched, polls = forward(tmp_path, "poll")
    polling = [watched["device_use"], {"process_ns": polls["cpu_ns"], **whole(polls)}]
    watched, sleeps = forward(tmp_path, "interrupt")
    sleeping = [watched["device_use"], {"process_ns": sleeps["cpu_ns"], **whole(sleeps)}]

    # As the generator saw it while it sent, and as the forwarder itself did.
    for much, little in zip(polling, sleeping, strict=True):
        shares = [use["process_ns"] / use["elapsed_ns"] for use in (much, little)]
        assert shares[1] < shares[0] / 2
    asleep_ns = sleeps["sleep"]["total_ns"]
    assert sleeps["sleep"]["n"] > 0
    assert asleep_ns + sleeps["gaps"]["total_ns"] <= sleeps["duration_ns"]


@pytest.mark.timing
def test_packets_of_a_second_generator_wake_it_as_well(run_dir: Path, tmp_path: Path) -> None:
    process = start("--port", "vhost:a", "--port", "vhost:b", "--wait", "interrupt")
    medians = []
    for out in (tmp_path / "first", tmp_path / "second"):
        sent = generate(out, "virtio:a", "virtio:b", "--rate", "1kpps")
        packets = np.fromfile(
            out / "packets.bin", layout.PACKET, offset=layout.FILE_HEADER.itemsize
        )
        came = packets[packets["received_tsc"] > 0]
        ticks = np.median(came["received_tsc"] - came["sent_tsc"])
        medians.append(ticks / sent["clock"]["nominal_tsc_hz"])
        assert sent["counters"]["lost"] == 0
    stop(process)

    assert run_dir.is_dir()
    assert max(medians) < NAP_S / 10


def test_what_waits_for_its_time_is_not_slept_over(run_dir: Path, tmp_path: Path) -> None:
    sent, device = forward(tmp_path, "interrupt", "--nf", "delay:time=200us")

    assert run_dir.is_dir()
    assert sent["counters"]["sent"] > 0
    assert device["ports"][1]["tx"] == sent["counters"]["sent"]


def test_a_duration_ends_it_though_nobody_ever_came(run_dir: Path) -> None:
    done = run("--port", "vhost:a", "--wait", "interrupt", "--duration", "100ms")

    # Others may have the huge pages: then it says that it has none.
    said = [line for line in done.stderr.splitlines() if ": memory: " not in line]
    assert (done.returncode, said) == (0, [])
    assert not list(run_dir.iterdir())


@pytest.mark.parametrize("port", ["memif:a", "ring:a", "null:a"])
def test_ports_without_interrupts_are_refused_in_one_line(run_dir: Path, port: str) -> None:
    done = run("--port", port, "--wait", "interrupt")

    kind = port.partition(":")[0]
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"taut-forward: port {port}: ports of kind {kind} have no receive interrupts; virtio, "
        "vhost and most pci ports do, and --wait poll needs none"
    ]
    assert not list(run_dir.iterdir())
