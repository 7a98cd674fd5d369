"""Made-up runs with known faults, for tests: no data plane, no clock, the same bytes every time.

make_raw_trial writes what taut-generate would (packets.bin, gaps.bin, histograms.bin,
generator.json); make_run writes a whole run directory through records.convert. Planted: losses,
duplicates, an orphan, a stall of the device, a gap of the generator (void packets), a warm-up.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from made_failure import fail_trial as fail_trial
from taut.records.convert import convert_trial
from taut.records.layout import (
    CLOCK_POINT,
    FILE_HEADER,
    GAP,
    HISTOGRAM,
    PACKET,
    SERIES,
    VERSION,
    PacketFlag,
    RecordKind,
)

TSC_HZ = 2_500_000_000
EPOCH_TSC = 1_000_000_000_000
TICKS_PER_NS = TSC_HZ / 1e9


@dataclass(frozen=True)
class MadeTrial:
    """What is planted. Times in ns from the run's start."""

    n_packets: int = 20_000
    rate_pps: float = 100_000.0
    n_flows: int = 1
    frame_len: int = 64
    n_cold: int = 1_000
    base_ns: float = 900.0  # the fastest packet
    spread_ns: float = 150.0  # of the body of the distribution
    uniform_ns: float = 0.0  # added uniformly 0..this: a batching device
    tail_share: float = 0.002
    tail_ns: float = 8_000.0
    n_lost: int = 3
    n_cold_lost: int = 0  # of n_cold, the first ones
    n_void_lost: int = 0  # of those that the generator's gap touched, the first ones
    lost: tuple[int, ...] = ()  # besides, by number
    n_duplicates: int = 2
    n_orphans: int = 1
    n_unsent: int = 0
    device_stall: tuple[int, int] | None = (100_000_000, 101_000_000)  # start, end
    generator_gap: tuple[int, int] | None = (150_000_000, 150_200_000)
    arrival_window_ns: int = 60
    seed: int = 1
    back: "MadeTrial | None" = None  # at the same rate and time, the other way


@dataclass(frozen=True)
class MadeVariant:
    """One device of a made run."""

    name: str
    driver: str
    trial: MadeTrial
    link: str = "memif"
    options: dict[str, Any] = field(default_factory=dict)
    host: str | None = None  # the state of the host; None: of before there were states


VARIANTS = (
    MadeVariant("floor", "loopback", MadeTrial(base_ns=600, n_lost=0, device_stall=None)),
    MadeVariant("eager", "taut_forward", MadeTrial()),
    MadeVariant(
        "buffered",
        "taut_forward",
        MadeTrial(base_ns=5_000, uniform_ns=100_000),
        options={"transmit": "buffered:32,100us"},
    ),
    MadeVariant("linux_bridge", "linux_bridge", MadeTrial(base_ns=15_000, spread_ns=3_000), "veth"),
)


def make_packets(made: MadeTrial) -> np.ndarray:
    """Packet records of one direction, in the order they would be written."""
    rng = np.random.default_rng(made.seed)
    n = made.n_packets
    due = np.arange(n) * (1e9 / made.rate_pps)
    sent = due + rng.gamma(2.0, 15.0, n)
    gap = made.generator_gap
    if gap is not None:
        sent = np.where((due >= gap[0]) & (due < gap[1]), gap[1] + (due - gap[0]) / 100, sent)
    service = (
        made.base_ns
        + rng.gamma(2.0, made.spread_ns / 2, n)
        + rng.uniform(0, 1, n) * made.uniform_ns
    )
    is_tail = rng.uniform(size=n) < made.tail_share
    service += is_tail * rng.exponential(made.tail_ns, n)
    received = sent + service
    stall = made.device_stall
    if stall is not None:
        held = (received >= stall[0]) & (received < stall[1])
        received = np.where(held, stall[1] + (received - stall[0]) / 100, received)
    received = np.maximum.accumulate(received)

    packets = np.zeros(n, PACKET)
    packets["seq"] = np.arange(n)
    packets["flow"] = np.arange(n) % made.n_flows
    packets["frame_len"] = made.frame_len
    packets["due_tsc"] = _tsc(due)
    packets["sent_tsc"] = _tsc(sent)
    packets["received_tsc"] = _tsc(received)
    packets["arrival_window"] = round(made.arrival_window_ns * TICKS_PER_NS)
    packets["flags"][: made.n_cold] |= _bits(PacketFlag.COLD)
    void = np.zeros(n, bool)
    if gap is not None:
        void = (sent < gap[1]) & (received > gap[0]) | (due >= gap[0]) & (due < gap[1])
        packets["flags"][void] |= _bits(PacketFlag.VOID)
    chosen = made.n_cold + rng.permutation(n - made.n_cold)
    in_gap = np.flatnonzero(void)[: made.n_void_lost]
    lost = np.concatenate([np.arange(made.n_cold_lost), chosen[: made.n_lost], in_gap])
    unsent = chosen[made.n_lost : made.n_lost + made.n_unsent]
    twice = chosen[made.n_lost + made.n_unsent :][: made.n_duplicates]
    for missing in (lost, unsent, list(made.lost)):
        packets["received_tsc"][missing] = 0
        packets["arrival_window"][missing] = 0
    packets["sent_tsc"][unsent] = 0
    packets["flags"][unsent] |= _bits(PacketFlag.UNSENT)
    duplicates = packets[np.sort(twice)].copy()
    duplicates["received_tsc"] += np.uint64(5_000)
    duplicates["flags"] |= _bits(PacketFlag.DUPLICATE)
    orphans = np.zeros(made.n_orphans, PACKET)
    orphans["seq"] = n + 10_000 + np.arange(made.n_orphans)
    orphans["received_tsc"] = _tsc(np.full(made.n_orphans, due[-1] / 2))
    orphans["frame_len"] = made.frame_len
    orphans["flags"] = PacketFlag.ORPHAN
    return np.concatenate([packets, duplicates, orphans])


def packets_by_direction(made: MadeTrial) -> list[np.ndarray]:
    """Packet records of each direction that is loaded."""
    if made.back is None:
        return [make_packets(made)]
    back = make_packets(replace(made.back, rate_pps=made.rate_pps, seed=made.seed + 500))
    back["direction"] = 1
    return [make_packets(made), back]


def make_histograms(packets: np.ndarray, n_flows: int = 1) -> np.ndarray:
    """Histogram records of one direction that agree exactly with its packets (a tick a bucket)."""
    first = packets["flags"] & (PacketFlag.DUPLICATE | PacketFlag.LATE | PacketFlag.ORPHAN) == 0
    matched = packets[first & (packets["received_tsc"] != 0) & (packets["sent_tsc"] != 0)]
    own = packets[first]
    sent = own[own["sent_tsc"] != 0]
    departs = (own["sent_tsc"][1:] != 0) & (own["sent_tsc"][:-1] != 0)
    service = (matched["received_tsc"] - matched["sent_tsc"]).astype(np.int64)
    follows = matched["seq"][n_flows:] - matched["seq"][:-n_flows] == n_flows
    series = {
        "service": (matched, service),
        "intent": (matched, matched["received_tsc"] - matched["due_tsc"]),
        "jitter": (
            matched[n_flows:][follows],
            np.abs(service[n_flows:] - service[:-n_flows])[follows],
        ),
        "departure_error": (sent, sent["sent_tsc"] - sent["due_tsc"]),
        "inter_departure": (own[1:][departs], np.diff(own["sent_tsc"])[departs]),
        "arrival_window": (matched, matched["arrival_window"]),
    }
    rows = []
    for name, (of, values) in series.items():
        void = (of["flags"] & PacketFlag.VOID != 0).astype(np.uint8)
        cold = (of["flags"] & PacketFlag.COLD != 0).astype(np.uint8)
        keys = np.stack([void, cold, values.astype(np.int64)])
        distinct, counts = np.unique(keys, axis=1, return_counts=True)
        part = np.zeros(len(counts), HISTOGRAM)
        part["series"], part["direction"] = SERIES.index(name), packets["direction"][0]
        part["is_void"], part["is_cold"] = distinct[0], distinct[1]
        part["value_ticks"], part["width_ticks"], part["count"] = distinct[2], 1, counts
        rows.append(part)
    return np.concatenate(rows)


def write_raw(path: Path, kind: RecordKind, records: np.ndarray, **header: Any) -> None:
    """Write one record file; keywords replace fields of the header."""
    head = np.zeros(1, FILE_HEADER)
    head["magic"], head["version"], head["kind"] = b"TAUTREC", VERSION, kind
    head["record_size"], head["run_id"], head["n_flows"] = records.dtype.itemsize, 7, 1
    head["epoch_tsc"], head["nominal_tsc_hz"], head["thread"] = EPOCH_TSC, TSC_HZ, b"generator"
    head["first"] = np.array((EPOCH_TSC - TSC_HZ, 10**9, 50), CLOCK_POINT)
    head["last"] = np.array((EPOCH_TSC + 9 * TSC_HZ, 11 * 10**9, 50), CLOCK_POINT)
    head["n_records"] = len(records)
    for name, value in header.items():
        head[name] = value
    path.write_bytes(head.tobytes() + records.tobytes())


def make_raw_trial(folder: Path, made: MadeTrial = MadeTrial()) -> dict[str, Any]:
    """Write the record files and generator.json of one trial; give the parsed generator.json."""
    folder.mkdir(parents=True, exist_ok=True)
    directions = packets_by_direction(made)
    packets = np.concatenate(directions)
    gaps = np.zeros(int(made.generator_gap is not None), GAP)
    if made.generator_gap is not None:
        gaps["start_tsc"], gaps["end_tsc"] = _tsc(np.array(made.generator_gap))
    write_raw(folder / "packets.bin", RecordKind.PACKET, packets, n_flows=made.n_flows)
    write_raw(folder / "gaps.bin", RecordKind.GAP, gaps)
    histograms = np.concatenate([make_histograms(one, made.n_flows) for one in directions])
    write_raw(folder / "histograms.bin", RecordKind.HISTOGRAM, histograms)
    document = _generator_json(made, directions, gaps)
    (folder / "generator.json").write_text(json.dumps(document, indent=1))
    return document


def make_run(
    path: Path,
    variants: tuple[MadeVariant, ...] = VARIANTS,
    rates_pps: tuple[float, ...] = (100_000.0,),
    repetitions: int = 2,
    failed: bool = False,
) -> Path:
    """Write a whole run directory; `failed` adds one trial whose device died."""
    (path / "trials").mkdir(parents=True, exist_ok=True)
    (path / "manifest.json").write_text(json.dumps(made_manifest(), indent=1))
    index = 0
    for repetition in range(1, repetitions + 1):
        for rate_pps in rates_pps:
            for variant in variants:
                seed = 1000 * repetition + index
                made = MadeTrial(**{**vars(variant.trial), "rate_pps": rate_pps, "seed": seed})
                _make_trial(path, index, repetition, variant, made)
                index += 1
    if failed:
        fail_trial(_make_trial(path, index, 1, variants[-1], variants[-1].trial))
    return path


def made_manifest() -> dict[str, Any]:
    """A manifest of a machine that does not exist."""
    return {
        "format": 1,
        "started_utc": "2026-01-01T00:00:00+00:00",
        "taut": {"version": "0.1.0", "git": None, "binaries": {}, "command_line": ["taut", "run"]},
        "python": {"version": "3.11.2", "executable": "python3", "packages": {}},
        "host": {"cpu": {"model": "Made-up CPU", "microcode": "0x1"}, "kernel": "6.1.0-made"},
        "spec": {"name": "made"},
        "seeds": {"order": 1},
    }


def _make_trial(
    run: Path, index: int, repetition: int, variant: MadeVariant, made: MadeTrial
) -> Path:
    trial, meta = _trial_meta(run, index, repetition, variant, made)
    raw = run / "raw"
    meta["generator"] = make_raw_trial(raw, made)
    trial.mkdir()
    convert_trial(raw, trial)
    for file in raw.iterdir():
        file.unlink()
    raw.rmdir()
    (trial / "trial.json").write_text(json.dumps(meta, indent=1))
    return trial


def _trial_meta(
    run: Path, index: int, repetition: int, variant: MadeVariant, made: MadeTrial
) -> tuple[Path, dict[str, Any]]:
    rate = f"{made.rate_pps / 1000:g}kpps"
    name = f"{index:03d}-{variant.name}-bare-constant-{made.frame_len}-{rate}-r{repetition}"
    clock = {"usable": True, "why": "", "tsc_hz": TSC_HZ, "residual_ns": 12, "skew": []}
    meta = {
        "format": 1,
        "index": index,
        "name": name,
        "status": "whole",
        "failure": None,
        "repetition": repetition,
        "started_utc": f"2026-01-01T00:{index // 60:02d}:{index % 60:02d}+00:00",
        "dut": {
            "name": variant.name,
            "driver": variant.driver,
            "version": "made",
            "options": variant.options,
            "link": variant.link,
            "placement": "bare",
            "path": f"{variant.link}, made up",
            "notes": [],
            "stats": None,
        },
        "traffic": {
            "name": "constant",
            "schedule": "constant",
            "options": {},
            "frame": str(made.frame_len),
            "flows": made.n_flows,
            "both": made.back is not None,
            "rate": rate,
            "offered_pps": made.rate_pps,
            "duration_ns": round(made.n_packets / made.rate_pps * 1e9),
            "warm_up_ns": round(made.n_cold / made.rate_pps * 1e9),
            "seed": made.seed,
            "record": "all",
        },
        "cores": {"generator": 0, "device": 1, "shared": False, "notes": []},
        "clock": {"before": clock, "after": clock},
        "generator": {},
        "logs": [],
    }
    if variant.host is not None:
        meta["host"] = {"name": variant.host}
    return run / "trials" / name, meta


def _generator_json(made: MadeTrial, ways: list[np.ndarray], gaps: np.ndarray) -> dict[str, Any]:
    packets = np.concatenate(ways)
    counters = _counters(packets)
    gap_ns = [int(ticks / TICKS_PER_NS) for ticks in gaps["end_tsc"] - gaps["start_tsc"]]
    return {
        "format": 1,
        "version": "0.1.0",
        "run_id": 7,
        "epoch_tsc": EPOCH_TSC,
        "clock": {
            "nominal_tsc_hz": TSC_HZ,
            "tsc_hz": float(TSC_HZ),
            "residual_ns": 12,
            "first": {"tsc": EPOCH_TSC - TSC_HZ, "mono_raw_ns": 10**9, "width_ticks": 50},
            "last": {"tsc": EPOCH_TSC + 9 * TSC_HZ, "mono_raw_ns": 11 * 10**9, "width_ticks": 50},
        },
        "asked": {},
        "offered_pps": made.rate_pps * len(ways),
        "achieved_pps": made.rate_pps * len(ways) * counters["sent"] / counters["due"],
        "duration_ns": round(made.n_packets / made.rate_pps * 1e9),
        "stop": "count",
        "flows": made.n_flows,
        "frames": [{"len": made.frame_len, "share": 1.0}],
        "memory": "hugepages",
        "counters": counters,
        "directions": [_counters(one) for one in ways],
        "gaps": {
            "n": len(gaps),
            "total_ns": sum(gap_ns),
            "max_ns": max(gap_ns, default=0),
            "not_logged": 0,
            "threshold_ns": 1000,
            "per_packet_ns": 0,
            "longest_granted_ns": 850,
        },
        "loop": {"iterations": 10 * made.n_packets, "min_ns": 40},
        "records": {"mode": "all", "n": len(packets), "bytes": packets.nbytes, "stalls": 0},
        "histogram_resolution": {"exact_below_ns": 104_857, "relative_above": 6.2e-05},
    }


def _counters(packets: np.ndarray) -> dict[str, int]:
    flags = packets["flags"]
    extra = {
        name: flags & flag != 0
        for name, flag in (
            ("late", PacketFlag.LATE),
            ("duplicates", PacketFlag.DUPLICATE),
            ("orphans", PacketFlag.ORPHAN),
        )
    }
    first = packets[~(extra["late"] | extra["duplicates"] | extra["orphans"])]
    sent = first["sent_tsc"] != 0
    matched = sent & (first["received_tsc"] != 0)
    void, cold = first["flags"] & PacketFlag.VOID != 0, first["flags"] & PacketFlag.COLD != 0
    counts = {
        "due": len(first),
        "sent": sent.sum(),
        "unsent": (~sent).sum(),
        "received": matched.sum() + sum(of.sum() for of in extra.values()),
        "matched": matched.sum(),
        "lost": (sent & ~matched).sum(),
        **{name: of.sum() for name, of in extra.items()},
        "out_of_sequence": (first["flags"] & PacketFlag.OUT_OF_SEQUENCE != 0).sum(),
        "foreign": 0,
        "void": void.sum(),
        "void_cold": (void & cold).sum(),
        "cold": cold.sum(),
        "unsent_cold": (~sent & cold).sum(),
        "lost_cold": (sent & ~matched & cold).sum(),
        "lost_void": (sent & ~matched & void & ~cold).sum(),
        "sent_late": (first["sent_tsc"][sent] - first["due_tsc"][sent] > 2500).sum(),
    }
    return {name: int(value) for name, value in counts.items()}


def _tsc(time_ns: np.ndarray) -> np.ndarray:
    return (EPOCH_TSC + np.rint(time_ns * TICKS_PER_NS)).astype(np.uint64)


def _bits(flag: PacketFlag) -> np.uint16:
    return np.uint16(flag.value)
