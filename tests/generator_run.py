"""Run taut-generate and read what it wrote: shared by the smoke tests of the generator."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taut.core.binaries import find_binary
from taut.records import layout
from taut.records.layout import PacketFlag
from waiting import wait_for, wait_until_ran

EXACT_BITS = 18
SUB_BITS = 14
ODD = PacketFlag.DUPLICATE | PacketFlag.ORPHAN | PacketFlag.LATE
LOOP = ("--tx", "ring:loop", "--rx", "ring:loop")
QUICK = ("--warm-up", "0s", "--duration", "200ms", "--rate", "50kpps")


@dataclass(frozen=True)
class Result:
    """The four files of one run."""

    summary: dict
    packets: np.ndarray
    gaps: np.ndarray
    histograms: np.ndarray
    headers: dict[str, np.void]


def command(out: Path, *arguments: str) -> list[str]:
    return [str(find_binary("taut-generate")), "--out", str(out), *arguments]


def run(out: Path, *arguments: str, status: int = 0, **options) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(out, *arguments), capture_output=True, text=True, timeout=60, **options
    )
    assert done.returncode == status, done.stderr
    return done


def start(out: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(out, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_until_sending(process: subprocess.Popen[str], out: Path) -> None:
    """Wait for the last thing that is opened before the run, and into the run."""
    wait_for("packets.bin", lambda: (out / "packets.bin").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    wait_until_ran(process.pid, 0.5)


def read_records(path: Path, dtype: np.dtype) -> tuple[np.void, np.ndarray]:
    """Give header and records; a file whose writer died is counted by its size."""
    data = path.read_bytes()
    header = np.frombuffer(data, layout.FILE_HEADER, count=1)[0]
    n = (len(data) - layout.FILE_HEADER.itemsize) // dtype.itemsize
    if header["n_records"]:
        assert header["n_records"] == n
    return header, np.frombuffer(data, dtype, count=n, offset=layout.FILE_HEADER.itemsize)


def read(out: Path) -> Result:
    files = {"gaps": layout.GAP, "histograms": layout.HISTOGRAM, "packets": layout.PACKET}
    read = {
        name: read_records(out / f"{name}.bin", dtype)
        for name, dtype in files.items()
        if (out / f"{name}.bin").exists()
    }
    none = np.empty(0, layout.PACKET)
    return Result(
        summary=json.loads((out / "generator.json").read_text()),
        packets=read["packets"][1] if "packets" in read else none,
        gaps=read["gaps"][1],
        histograms=read["histograms"][1],
        headers={name: header for name, (header, _) in read.items()},
    )


def due_ns(result, direction: int = 0) -> np.ndarray:
    packets = result.packets[result.packets["direction"] == direction]
    ticks = (np.sort(packets["due_tsc"]) - result.summary["epoch_tsc"]).astype(np.float64)
    return ticks * 1e9 / result.summary["clock"]["nominal_tsc_hz"]


def assert_sums(summary: dict) -> None:
    """Check the rules that always hold, for each direction and for all."""
    for c in (summary["counters"], *summary["directions"]):
        assert c["due"] == c["sent"] + c["unsent"]
        assert c["sent"] == c["matched"] + c["lost"]
        assert c["received"] == c["matched"] + c["duplicates"] + c["orphans"] + c["late"]
    for name, total in summary["counters"].items():
        assert total == sum(direction[name] for direction in summary["directions"])


def assert_records_agree(result: Result) -> None:
    """Count and time every packet again from its record; counters and histograms must agree."""
    for direction, counters in enumerate(result.summary["directions"]):
        packets = result.packets[result.packets["direction"] == direction]
        own = packets[(packets["flags"] & ODD) == 0]
        assert _counted(packets) == {name: _recorded(counters, name) for name in _counted(packets)}
        assert sorted(own["seq"]) == list(range(counters["due"] - counters["abandoned"]))
        expected = _series(own, int(result.headers["packets"]["n_flows"]))
        stored = result.histograms[result.histograms["direction"] == direction]
        # Of the series, those a generator counts; captures and taut-noise have others.
        for name, values in expected.items():
            number = layout.SERIES.index(name)
            assert _stored(stored[stored["series"] == number]) == values, name


def _counted(packets: np.ndarray) -> dict[str, int]:
    flags = packets["flags"]
    own = (flags & ODD) == 0
    sent = own & (packets["sent_tsc"] > 0)
    matched = own & (packets["received_tsc"] > 0)
    void, cold = (own & ((flags & flag) > 0) for flag in (PacketFlag.VOID, PacketFlag.COLD))
    masks = {
        "sent": sent,
        "unsent": own & ((flags & PacketFlag.UNSENT) > 0),
        "matched": matched,
        "lost": sent & ~matched,
        "late": (flags & PacketFlag.LATE) > 0,
        "duplicates": (flags & PacketFlag.DUPLICATE) > 0,
        "orphans": (flags & PacketFlag.ORPHAN) > 0,
        "out_of_sequence": (flags & PacketFlag.OUT_OF_SEQUENCE) > 0,
        "void": void,
        "cold": cold,
        "void_cold": void & cold,
        "lost_void": sent & ~matched & void & ~cold,
    }
    return {name: int(mask.sum()) for name, mask in masks.items()}


def _recorded(counters: dict[str, int], name: str) -> int:
    """Give how many records a counter stands for: what was abandoned has none."""
    return counters[name] - (counters["abandoned"] if name in ("unsent", "void") else 0)


def _bucket(values: np.ndarray) -> np.ndarray:
    """Give the lowest value of each value's bucket, as histogram.h says."""
    octave = np.frexp(values.astype(np.float64))[1] - 1
    shift = np.where(values < 1 << EXACT_BITS, 0, octave - SUB_BITS).astype(np.uint64)
    return (values >> shift) << shift


def _histogram(values: np.ndarray, flags: np.ndarray) -> dict[tuple[int, int, int], int]:
    keys = np.stack(
        [
            _bucket(values).astype(np.int64),
            (flags & PacketFlag.VOID) > 0,
            (flags & PacketFlag.COLD) > 0,
        ],
        axis=1,
    )
    unique, counts = np.unique(keys, axis=0, return_counts=True)
    return {tuple(map(int, key)): int(n) for key, n in zip(unique, counts, strict=True)}


def _stored(histogram: np.ndarray) -> dict[tuple[int, int, int], int]:
    return {
        (int(row["value_ticks"]), int(row["is_void"]), int(row["is_cold"])): int(row["count"])
        for row in histogram
    }


def _series(own: np.ndarray, n_flows: int) -> dict[str, dict[tuple[int, int, int], int]]:
    matched = own[own["received_tsc"] > 0]
    in_order = np.sort(own, order="seq")
    is_sent = in_order["sent_tsc"] > 0
    sent = in_order[is_sent]
    follows = is_sent[1:] & is_sent[:-1]
    inter_departure = np.diff(in_order["sent_tsc"])[follows]
    service = matched["received_tsc"] - matched["sent_tsc"]
    return {
        "service": _histogram(service, matched["flags"]),
        "intent": _histogram(matched["received_tsc"] - matched["due_tsc"], matched["flags"]),
        "arrival_window": _histogram(matched["arrival_window"].astype(np.uint64), matched["flags"]),
        "departure_error": _histogram(sent["sent_tsc"] - sent["due_tsc"], sent["flags"]),
        "inter_departure": _histogram(inter_departure, in_order["flags"][1:][follows]),
        "jitter": _jitter(matched, service, n_flows),
    }


def _jitter(matched: np.ndarray, service: np.ndarray, n_flows: int) -> dict:
    """|IPDV|: between packets sent one after the other in a flow, in whatever order they came."""
    values, flags = [], []
    for flow in range(n_flows):
        own = np.flatnonzero(matched["flow"] == flow)
        own = own[np.argsort(matched["seq"][own], kind="stable")]
        packets, latency = matched[own], service[own].astype(np.int64)
        follows = np.diff(packets["seq"]) == n_flows
        values.append(np.abs(np.diff(latency))[follows])
        flags.append((packets["flags"][1:] | packets["flags"][:-1])[follows])
    return _histogram(np.concatenate(values).astype(np.uint64), np.concatenate(flags))


def limit_file_size() -> None:
    """Make the disk seem full after a quarter of a megabyte."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))


def peak_memory_kib(out: Path, *arguments: str) -> int:
    """Run and give the process's largest resident size."""
    process = start(out, *arguments)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss
