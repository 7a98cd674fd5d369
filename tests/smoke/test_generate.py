"""taut-generate over rings and memif: every packet accounted for, every record true."""

import json
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from generator_run import (
    LOOP,
    QUICK,
    assert_records_agree,
    assert_sums,
    command,
    due_ns,
    limit_file_size,
    peak_memory_kib,
    read,
    read_records,
    run,
    start,
    wait_until_sending,
)
from taut.core.binaries import find_binary
from taut.explain.judge.held import RING_PACKETS
from taut.records import layout
from taut.records.documents.generator import GENERATOR_FILE, GeneratorResult, PortDrops
from taut.records.documents.json_form import read_document
from taut.records.layout import PacketFlag
from waiting import wait_for

pytestmark = [pytest.mark.smoke, pytest.mark.beside]


PATIENT = ("--deadline", "20s")
"""A machine that stands still for seconds makes packets late otherwise."""


def memif_pair(folder: Path) -> tuple[str, ...]:
    socket = folder / "t.sock"
    return ("--tx", f"memif:{socket},role=server", "--rx", f"memif:{socket},role=client")


@pytest.mark.parametrize("schedule", ["constant", "jittered", "poisson", "burst:size=8", "step"])
@pytest.mark.parametrize("load", [(), ("--both",), ("--flows", "5", "--frame", "imix")])
def test_every_packet_is_accounted_for(tmp_path: Path, schedule: str, load: tuple[str, ...]):
    run(tmp_path, *LOOP, *QUICK, *PATIENT, "--schedule", schedule, *load)

    result = read(tmp_path)
    assert_sums(result.summary)
    assert_records_agree(result)
    counters = result.summary["counters"]
    # On a machine that takes the core away for long, some departures are abandoned.
    assert counters["matched"] == counters["sent"] > 0
    assert counters["foreign"] == counters["orphans"] == counters["duplicates"] == 0


def test_memif_in_one_process_carries_both_directions(tmp_path: Path):
    run(tmp_path, *memif_pair(tmp_path), *QUICK, *PATIENT, "--both", "--flows", "3")

    result = read(tmp_path)
    assert_sums(result.summary)
    assert_records_agree(result)
    assert [d["due"] for d in result.summary["directions"]] == [10000, 10000]
    assert [d["lost"] for d in result.summary["directions"]] == [0, 0]


def test_constant_rate_offers_exactly_what_was_asked(tmp_path: Path):
    run(tmp_path, *LOOP, *QUICK, *PATIENT)

    result = read(tmp_path)
    assert result.summary["counters"]["due"] == 10000
    assert result.summary["offered_pps"] == pytest.approx(50000)
    assert result.summary["stop"] == "duration"
    due = due_ns(result)
    assert np.abs(due - np.arange(1, len(due) + 1) * 20000).max() < 1


def test_energy_is_read_or_said_why_not(tmp_path: Path):
    run(tmp_path, *LOOP, "--warm-up", "0s", "--duration", "100ms", "--rate", "10kpps")

    energy = read_document(GeneratorResult, tmp_path / GENERATOR_FILE).energy
    assert energy is not None
    assert energy.elapsed_ns > 100_000_000
    assert bool(energy.domains) == (energy.why_not is None)
    if not list(Path("/sys/class/powercap").glob("intel-rapl:*")):
        assert energy.why_not == "no powercap domain (intel-rapl) on this machine"


def test_what_its_ports_dropped_is_told_of_each_that_receives(tmp_path: Path):
    run(tmp_path, *memif_pair(tmp_path), *QUICK, "--both")

    ports = read_document(GeneratorResult, tmp_path / GENERATOR_FILE).ports
    assert ports == (PortDrops(), PortDrops())


def test_what_fills_its_ring_is_told(tmp_path: Path):
    run(tmp_path, *LOOP, *QUICK)

    gaps = read_document(GeneratorResult, tmp_path / GENERATOR_FILE).gaps
    assert gaps is not None
    assert gaps.full_ring_packets == RING_PACKETS
    # Of each packet 6 ns, in whole ticks of a clock of 1 GHz or more.
    assert 6 * RING_PACKETS <= gaps.full_ring_ns < 7 * RING_PACKETS


def test_a_bit_rate_counts_the_layer_that_is_named(tmp_path: Path):
    run(tmp_path, *LOOP, "--warm-up", "0s", "--count", "10", "--rate", "6.72Mbps",
        "--rate-layer", "l1")  # fmt: skip

    assert read(tmp_path).summary["rate_pps"] == pytest.approx(10000)


def test_one_seed_gives_one_schedule(tmp_path: Path):
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        run(tmp_path / name, *LOOP, *QUICK, *PATIENT, "--schedule", "poisson", "--frame", "imix",
            "--seed", seed)  # fmt: skip

    a, b, c = (read(tmp_path / name) for name in "abc")
    n = min(len(result.packets) for result in (a, b, c))
    assert a.summary["counters"]["due"] == b.summary["counters"]["due"]
    assert np.abs(due_ns(a)[:n] - due_ns(b)[:n]).max() < 2
    assert (a.packets["frame_len"][:n] == b.packets["frame_len"][:n]).all()
    assert np.abs(due_ns(a)[:n] - due_ns(c)[:n]).max() > 1000


def test_imix_is_seven_to_four_to_one_and_sizes_arrive_as_sent(tmp_path: Path):
    run(tmp_path, *LOOP, *PATIENT, "--warm-up", "0s", "--count", "1200", "--rate", "50kpps",
        "--frame", "imix")  # fmt: skip

    result = read(tmp_path)
    sizes, counts = np.unique(result.packets["frame_len"], return_counts=True)
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == {64: 700, 570: 400, 1518: 100}
    assert [frame["len"] for frame in result.summary["frames"]] == [64, 570, 1518]


def test_flows_take_turns(tmp_path: Path):
    run(tmp_path, *LOOP, *QUICK, "--flows", "7")

    packets = read(tmp_path).packets
    assert (packets["flow"] == packets["seq"] % 7).all()


def test_what_is_due_in_the_warm_up_is_cold(tmp_path: Path):
    run(tmp_path, *LOOP, "--warm-up", "100ms", "--duration", "100ms", "--rate", "10kpps")

    result = read(tmp_path)
    assert result.summary["counters"]["cold"] == 1000
    assert result.summary["counters"]["due"] == 2000
    assert_records_agree(result)


def test_a_port_that_refuses_makes_packets_unsent_and_what_goes_nowhere_is_lost(tmp_path: Path):
    run(tmp_path, "--tx", "ring:a", "--rx", "ring:b", *QUICK, "--deadline", "10ms")

    result = read(tmp_path)
    counters = result.summary["counters"]
    # Of what a machine that stood still for long left to be sent.
    wanted = 10000 - counters["abandoned"]
    assert counters["lost"] == counters["sent"] == min(1023, wanted)
    assert counters["unsent"] == 10000 - counters["sent"]
    assert_sums(result.summary)
    assert_records_agree(result)
    assert result.summary["achieved_pps"] < result.summary["offered_pps"] / 5


def test_more_than_the_core_can_send_is_abandoned_not_waited_for(tmp_path: Path):
    run(tmp_path, *LOOP, "--warm-up", "0s", "--duration", "200ms", "--rate", "400Mpps",
        "--record", "none")  # fmt: skip

    summary = read(tmp_path).summary
    assert summary["counters"]["due"] == 80_000_000
    assert summary["counters"]["abandoned"] > 0
    assert_sums(summary)


def test_what_was_abandoned_is_counted_when_the_ports_are_drained(tmp_path: Path):
    run(tmp_path, *LOOP, "--warm-up", "0s", "--duration", "1s", "--rate", "400Mpps",
        "--record", "none")  # fmt: skip

    result = read(tmp_path)
    clock, gaps = result.summary["clock"], result.gaps
    # It sends until it is a second behind the end. Then it drains, counts and takes the time.
    stopped_tsc = result.summary["epoch_tsc"] + 2 * clock["nominal_tsc_hz"]
    counting_ticks = clock["last"]["tsc"] - stopped_tsc
    behind = gaps[gaps["start_tsc"] >= stopped_tsc]
    assert result.summary["counters"]["due"] == 400_000_000
    assert (behind["end_tsc"] - behind["start_tsc"] < counting_ticks // 2).all()


@pytest.mark.parametrize("mode", ["none", "tail"])
def test_record_keeps_what_was_asked_and_histograms_always(tmp_path: Path, mode: str):
    run(tmp_path, *LOOP, *QUICK, "--record", mode)

    result = read(tmp_path)
    n_void = result.summary["counters"]["void"]
    is_void = (result.packets["flags"] & PacketFlag.VOID) > 0
    service = result.histograms[result.histograms["series"] == 0]
    assert service["count"].sum() == result.summary["counters"]["matched"] > 0
    assert result.summary["records"]["n"] == len(result.packets)
    n_abandoned = result.summary["counters"]["abandoned"]
    assert is_void.sum() == (n_void - n_abandoned if mode == "tail" else 0)
    # On a busy machine much is void, and little is left to take a hundredth of.
    assert (~is_void).sum() <= (10000 - n_void) / 10 + 100


def test_json_prints_the_document_that_is_written(tmp_path: Path):
    done = run(tmp_path, *LOOP, *QUICK, "--json", "--run-id", "42")

    printed = json.loads(done.stdout)
    assert printed == read(tmp_path).summary
    assert printed["run_id"] == 42
    assert printed["understood"]["rate"] == "50kpps"
    assert printed["understood"]["deadline"] == "1000000000ns"
    assert printed["clock"]["residual_ns"] < 10_000


def test_json_that_does_not_fit_is_a_failure(tmp_path: Path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(tmp_path, *LOOP, *QUICK, "--json"), stdout=full, stderr=subprocess.PIPE
        )

    assert done.returncode == 1
    assert b"standard output: No space left" in done.stderr
    assert (tmp_path / "generator.json").is_file()


def test_the_path_of_the_folder_may_be_long_and_of_any_bytes(tmp_path: Path):
    out = tmp_path.joinpath(*4 * ["x" * 200], "\udcff")
    out.mkdir(parents=True)

    run(out, *LOOP, *QUICK)

    result = read(out)
    assert_records_agree(result)
    assert result.summary["understood"]["out"] == f"{out.parent}/\ufffd"
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    assert read_document(GeneratorResult, out / GENERATOR_FILE).counters["sent"] > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_whole_files(tmp_path: Path, number: signal.Signals):
    process = start(tmp_path, *LOOP, "--duration", "60s", "--rate", "50kpps")
    wait_until_sending(process, tmp_path)
    process.send_signal(number)

    assert process.wait(timeout=60) == 130
    result = read(tmp_path)
    assert result.summary["stop"] == "signal"
    assert result.headers["packets"]["n_records"] == len(result.packets)
    assert_sums(result.summary)
    assert_records_agree(result)


def test_a_killed_generator_leaves_a_file_that_is_counted_by_size(tmp_path: Path):
    # Its memory holds as much as comes while the writer waits for a core for a second and a half.
    process = start(tmp_path, *LOOP, *PATIENT, "--duration", "60s", "--rate", "50kpps",
                    "--record-ring", "8")  # fmt: skip
    file = tmp_path / "packets.bin"
    wait_until_sending(process, tmp_path)
    wait_for("packets", lambda: file.stat().st_size > 20_000 * layout.PACKET.itemsize)
    process.kill()
    process.wait()

    header, packets = read_records(file, layout.PACKET)
    assert header["n_records"] == 0
    assert len(packets) > 10_000
    assert sorted(packets["seq"]) == list(range(len(packets)))
    assert not (tmp_path / "generator.json").exists()


def test_a_full_disk_stops_the_run_at_once(tmp_path: Path):
    # Huge pages are files to the kernel: they would meet the limit first.
    done = run(tmp_path, *LOOP, "--duration", "600s", "--rate", "200kpps", "--record-ring", "1",
               "--", "--no-huge", status=1, preexec_fn=limit_file_size)  # fmt: skip

    assert "packets.bin: File too large" in done.stderr
    assert read_summary(tmp_path)["stop"] == "disk-full"


def read_summary(out: Path) -> dict:
    return json.loads((out / "generator.json").read_text())


LOG_RING = 1 << 20  # gaps the log holds in memory


def test_gaps_are_on_disk_however_many_there_are(tmp_path: Path):
    process = start(tmp_path, *LOOP, "--warm-up", "0s", "--duration", "200s", "--rate", "10kpps",
                    "--gap-threshold", "1ns")  # fmt: skip
    wait_until_sending(process, tmp_path)
    file = tmp_path / "gaps.bin"
    wait_for("gaps", lambda: file.stat().st_size >= (LOG_RING + 1000) * layout.GAP.itemsize, 120)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130

    result = read(tmp_path)
    counts = result.summary["gaps"]
    assert len(result.gaps) == counts["n"] - counts["not_logged"]
    assert result.headers["gaps"]["epoch_tsc"] == result.summary["epoch_tsc"]
    assert_records_agree(result)
    assert len(result.gaps) > LOG_RING
    (tmp_path / "gaps.bin").unlink()


@pytest.mark.alone
def test_memory_does_not_grow_with_the_run(tmp_path: Path):
    # Half of its memory, which is when it is written, holds as much as comes in 1.7 s.
    load = (*LOOP, "--warm-up", "0s", "--rate", "200kpps", "--record-ring", "32")

    short = peak_memory_kib(tmp_path / "short", *load, "--duration", "200ms")
    long = peak_memory_kib(tmp_path / "long", *load, "--duration", "5s")

    assert abs(long - short) < 2048


BAD = [
    (("--tx", "smoke:x"), "smoke"),
    (("--rate", "fast"), "--rate fast"),
    (("--rate", "0pps"), "zero"),
    (("--frame", "63"), "64"),
    (("--frame", "9000"), "1518"),
    (("--schedule", "sawtooth"), "constant jittered poisson burst"),
    (("--schedule", "burst:size=0"), "size"),
    (("--schedule", "jittered:percent=99"), "percent"),
    (("--flows", "0"), "flows"),
    (("--rx-queues", "0"), "--rx-queues 0: accepted are 1 to 16"),
    (("--core", "4711"), "core"),
    (("--core", "x"), "--core x"),
    (("--duration", "10"), "duration"),
    (("--record", "some"), "record"),
    (("--tx", "veth:no-such-link"), "no-such-link"),
    (("--out", "/proc/nowhere"), "/proc/nowhere"),
    (("--out", __file__), f"--out {__file__}: File exists; name a folder"),
    (("--what", "1"), "--what"),
]


@pytest.mark.parametrize(("arguments", "word"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_line_and_status_2(tmp_path: Path, arguments, word):
    arguments = (*LOOP, "--rate", "1kpps", "--out", str(tmp_path), *arguments)
    done = subprocess.run(
        [str(find_binary("taut-generate")), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 2
    assert done.stdout == ""
    # Others may have the huge pages.
    [said] = [line for line in done.stderr.splitlines() if ": memory: " not in line]
    assert said.startswith("taut-generate: ")
    assert word in said


def test_an_option_that_eal_does_not_know_is_bad_input(tmp_path: Path):
    run(tmp_path, *LOOP, *QUICK, "--", "--no-such", status=2)


def test_a_link_that_does_not_come_up_is_a_failure_with_a_remedy(tmp_path: Path):
    port = f"memif:{tmp_path}/nobody.sock,role=server"
    done = run(tmp_path, "--tx", port, "--rx", port, *QUICK, "--link-timeout", "100ms", status=1)

    assert "no link" in done.stderr
    assert "--link-timeout" in done.stderr


def test_describe_names_options_schedules_and_ports():
    done = subprocess.run(
        [str(find_binary("taut-generate")), "--describe"], capture_output=True, text=True
    )

    described = json.loads(done.stdout)
    assert done.returncode == 0
    assert [s["name"] for s in described["schedules"]] == [
        "constant", "jittered", "poisson", "burst", "step",
    ]  # fmt: skip
    assert {"memif", "ring"} <= {port["name"] for port in described["ports"]}
    assert "deadline" in {option["name"] for option in described["options"]}
