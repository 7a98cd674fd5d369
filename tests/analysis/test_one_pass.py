"""One pass gives the numbers of DuckDB, to the last digit, whatever the records are like."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_packets import (
    COLD,
    DUPLICATE,
    HARD,
    LATE,
    ORPHAN,
    OUT_OF_SEQUENCE,
    UNSENT,
    VOID,
    extra,
    packet,
    write_gaps,
    write_packets,
)
from made_run import EPOCH_TSC, TSC_HZ, MadeTrial, MadeVariant, make_run, write_raw
from taut.analysis import one_pass
from taut.analysis.blocks import BLOCKS, count_by_time
from taut.analysis.distribution import measure_packets
from taut.analysis.episode import Threshold, find_episodes
from taut.analysis.one_pass import counted_in_one_pass
from taut.analysis.results import analyse_run
from taut.analysis.worst import WORST, worst_packets
from taut.binaries.count import count
from taut.core.errors import InputError, TautError
from taut.records.clock import ClockFit
from taut.records.convert import PACKET_SCHEMA, convert_trial, write_parquet
from taut.records.documents.results import RESULTS_FILE, SUMMARY_FILE
from taut.records.layout import CLOCK_POINT, PACKET, RecordKind
from taut.records.restore import NotForOnePassError
from taut.records.rundir import RunDirectory
from taut.storage.engines import open_engine

LATE_ABOVE_NS = 21_000


def numbers(engine, passed, packets, n_flows):
    """What analysis asks of a trial, by one pass (None: by the engine)."""
    gaps = packets.parent / "gaps.parquet"
    if passed is None:
        measured = measure_packets(engine, packets, n_flows)
        times = count_by_time(engine)
        episodes = find_episodes(engine, gaps, LATE_ABOVE_NS)
        slowest = worst_packets(engine, packets)
    else:
        measured, times = passed.measured(), passed.times
        episodes, slowest = passed.episodes(gaps, LATE_ABOVE_NS), passed.worst
    rows = [table.to_pydict() for table in (measured.distribution, times.blocks, slowest)]
    seconds = {s: [column.tolist() for column in of] for s, of in times.seconds.items()}
    return rows, measured.counts, measured.not_exact, seconds, episodes


def assert_the_same(packets, n_flows=1):
    with (
        counted_in_one_pass(packets, n_flows, Threshold()) as passed,
        open_engine("duckdb") as engine,
    ):
        assert passed is not None
        assert numbers(engine, passed, packets, n_flows) == numbers(engine, None, packets, n_flows)


@pytest.mark.parametrize("n_flows", [1, 2, 3, 1000])
def test_stamps_before_the_start_both_directions_holes_and_overtaking(tmp_path, n_flows):
    write_gaps(tmp_path / "gaps.parquet", [(3_000_000, 3_050_000, "forwarder"), (0, 1, "x")])

    assert_the_same(write_packets(tmp_path / "packets.parquet", HARD), n_flows)


@pytest.mark.parametrize("rows", [[], [packet(0, None)], [extra(3, ORPHAN)], HARD[:1]])
def test_trials_of_next_to_nothing(tmp_path, rows):
    write_gaps(tmp_path / "gaps.parquet", [])

    assert_the_same(write_packets(tmp_path / "packets.parquet", rows))


@pytest.mark.parametrize("span_us", [10, 1_999, 2_000, 39_999, 40_000, 10**6, 10**8, 3 * 10**8])
def test_blocks_of_every_length(tmp_path, span_us):
    """Their length is known only at the end, and steps of the powers of ten become 1, 2 or 5."""
    write_gaps(tmp_path / "gaps.parquet", [])
    rows = [packet(s, 1000 + s * s, gap_ns=span_us * 10) for s in range(101)]

    assert_the_same(write_packets(tmp_path / "packets.parquet", rows))


# In the order of the file: what became of a packet, and how far from its turn it is written.
FATES = st.tuples(
    st.sampled_from(["received", "received", "received", "lost", "unsent", "hole"]),
    st.integers(0, 40),
    st.one_of(st.integers(1, 3_000), st.integers(-100, 10**9)),
    st.sampled_from([0, 0, VOID, COLD, VOID | COLD, OUT_OF_SEQUENCE]),
)
EXTRAS = st.tuples(st.integers(0, 99), st.sampled_from([LATE, DUPLICATE, ORPHAN, LATE | COLD]))


def made_records(fates, extras, directions):
    """Records as a generator writes them: when it is known what became of a packet."""
    written, next_seq = [], [0, 0]
    for i, (fate, later, latency, flags) in enumerate(fates):
        direction = directions[i % len(directions)]
        seq = next_seq[direction]
        next_seq[direction] += 1
        if fate == "hole":
            continue
        record = np.zeros(1, PACKET)
        due = EPOCH_TSC + 7_001 * i
        record["seq"], record["direction"], record["flags"] = seq, direction, int(flags)
        record["due_tsc"], record["sent_tsc"] = due, due + i % 50
        if fate == "received":
            record["received_tsc"] = due + 50 + latency
            record["arrival_window"] = latency & 0xFFF
        if fate == "unsent":
            record["sent_tsc"], record["flags"] = 0, int(flags | UNSENT)
        written.append((i + later, i, record))
    for seq, flags in extras:
        record = np.zeros(1, PACKET)
        record["seq"], record["flags"], record["received_tsc"] = seq, int(flags), EPOCH_TSC + seq
        record["due_tsc"] = EPOCH_TSC + 7_001 * seq
        if flags == DUPLICATE:
            record["sent_tsc"] = record["due_tsc"] + seq % 50
        written.append((seq, len(fates) + len(written), record))
    written.sort(key=lambda w: w[:2])
    return np.concatenate([np.zeros(0, PACKET), *(record for _, _, record in written)])


@settings(max_examples=25, deadline=None)
@given(
    fates=st.lists(FATES, max_size=80),
    extras=st.lists(EXTRAS, max_size=5),
    directions=st.sampled_from([(0,), (1,), (0, 1), (0, 1, 1)]),
    n_flows=st.integers(1, 4),
    elapsed_ns=st.integers(10**9, 10**11),
    is_whole=st.booleans(),
)
def test_any_records_a_generator_may_write(
    tmp_path_factory, fates, extras, directions, n_flows, elapsed_ns, is_whole
):
    folder = tmp_path_factory.mktemp("any")
    records = made_records(fates, extras, directions)
    last = np.array((EPOCH_TSC + 9 * TSC_HZ, 10**9 + elapsed_ns, 50), CLOCK_POINT)
    # Of a writer that died: no last reading of the clock, no number, half a record at the end.
    died = {} if is_whole else {"n_records": 0, "last": np.zeros(1, CLOCK_POINT)}
    write_raw(folder / "packets.bin", RecordKind.PACKET, records, **({"last": last} | died))
    if not is_whole:
        with (folder / "packets.bin").open("ab") as file:
            file.write(b"\1" * 47)
    write_gaps(folder / "gaps.parquet", [])
    convert_trial(folder, folder)
    write_gaps(folder / "gaps.parquet", [(0, 10_000, "generator")])

    assert_the_same(folder / "packets.parquet", n_flows)
    assert_reads_the_same_in_place(folder, n_flows)
    shutil.rmtree(folder)


def assert_reads_the_same_in_place(folder, n_flows):
    """The ticks of packets.bin become the nanoseconds of packets.parquet."""
    for late_above_ns in (None, LATE_ABOVE_NS):
        options = {"n_flows": n_flows, "late_above_ns": late_above_ns}
        count(folder / "packets.bin", folder / "in_place", **options)
        count(one_pass.restored(folder / "packets.parquet"), folder / "piped", **options)
    for path in sorted((folder / "in_place").iterdir()):
        assert path.read_bytes() == (folder / "piped" / path.name).read_bytes(), path.name


@settings(max_examples=50, deadline=None)
@given(
    ticks=st.lists(st.integers(-(2**43), 2**43), min_size=1, max_size=50),
    ns_per_tick=st.tuples(st.integers(10**6, 10**9), st.integers(10**6, 10**9)),
)
def test_ticks_become_the_same_nanoseconds(tmp_path_factory, ticks, ns_per_tick):
    """Halves to even: what numpy makes of them, up to the hundred days that it counts."""
    elapsed_ns, elapsed_ticks = ns_per_tick
    folder = tmp_path_factory.mktemp("ticks")
    records = np.zeros(len(ticks), PACKET)
    records["seq"] = np.arange(len(ticks))
    records["due_tsc"] = records["sent_tsc"] = EPOCH_TSC
    records["received_tsc"] = (np.array(ticks, np.int64) + EPOCH_TSC).view(np.uint64)
    first, last = ((1, 0, 0), (1 + elapsed_ticks, elapsed_ns, 0))
    points = {"first": np.array(first, CLOCK_POINT), "last": np.array(last, CLOCK_POINT)}
    write_raw(folder / "packets.bin", RecordKind.PACKET, records, **points)

    count(folder / "packets.bin", folder / "out")

    fit = ClockFit(EPOCH_TSC, elapsed_ns / elapsed_ticks)
    counted, _ = one_pass._distributions(folder / "out/histograms.bin")
    latency = one_pass.distribution.select_metric(counted, "latency")
    got = np.repeat(latency["value_ns"].to_numpy(), latency["n"].to_numpy())
    known = records["received_tsc"] != 0
    expected = np.sort(fit.times_ns(records["received_tsc"][known]))
    assert got.tolist() == expected.tolist()
    shutil.rmtree(folder)


RUN = (
    MadeVariant("floor", "loopback", MadeTrial(4_000, n_cold=200, device_stall=None)),
    MadeVariant(
        "device",
        "taut_forward",
        MadeTrial(
            6_000,
            n_flows=3,
            n_cold=500,
            n_lost=40,
            n_unsent=3,
            n_duplicates=5,
            n_orphans=2,
            device_stall=(20_000_000, 21_000_000),
            generator_gap=(20_500_000, 20_800_000),
        ),
    ),
)


def test_every_number_and_file_of_a_run(tmp_path):
    run = make_run(tmp_path / "run", RUN, failed=True)

    def analysed(engine):
        document = analyse_run(RunDirectory(run), engine)
        names = (RESULTS_FILE, SUMMARY_FILE, "trials/*/latency.*")
        files = {p: p.read_bytes() for name in names for p in sorted(run.glob(name))}
        tables = ("distribution.parquet", BLOCKS, WORST)
        rows = {p: pq.read_table(p) for name in tables for p in sorted(run.glob(f"*/*/{name}"))}
        return document, files, rows

    by_engine, by_pass = analysed("duckdb"), analysed(None)

    assert by_pass == by_engine
    assert len(by_pass[1]) == 2 + 2 * 4
    assert all(trial.figures.episodes is not None for trial in by_pass[0].trials if trial.is_whole)


@pytest.mark.parametrize(
    "rows",
    [
        [packet(0), packet(0, 1_100)],
        [packet(0), packet(2**24), packet(1)],
        [packet(0) | {"received_ns": 2**62}],
        [packet(0, direction=2)],
        [packet(0, None) | {"due_ns": None, "sent_ns": None}],
    ],
    ids=["twice", "out of order", "centuries", "direction", "never"],
)
def test_what_one_pass_cannot_count_is_left_to_an_engine(tmp_path, rows):
    packets = write_packets(tmp_path / "p.parquet", rows)

    with counted_in_one_pass(packets, 1, Threshold()) as passed:
        assert passed is None


def test_too_many_distinct_values_keep_to_the_resolution_that_is_said(tmp_path):
    """Latencies up to seconds, each another one: exactly, they would take memory without bound."""
    n = 700_000
    path = tmp_path / "packets.parquet"
    sent = 1_000_000 + 10_000 * np.arange(n)
    latency = 5_003 * np.random.default_rng(1).permutation(n)
    columns = {"seq": np.arange(n), "due_ns": sent, "sent_ns": sent, "received_ns": sent + latency}
    zeros = dict.fromkeys(set(PACKET_SCHEMA.names) - set(columns), np.zeros(n, np.int64))
    # In the order of receipt, as far as one pass sorts.
    rows = pa.table(columns | zeros).select(PACKET_SCHEMA.names).cast(PACKET_SCHEMA)
    write_parquet(path, PACKET_SCHEMA, iter([rows.sort_by("received_ns")]))

    with counted_in_one_pass(path, 1, Threshold()) as passed:
        assert passed is not None
        assert passed.not_exact is not None
    names, _, words = passed.not_exact.partition(": ")
    assert "latency" in names.split(", ")
    assert "arrival_window" not in names.split(", ")
    assert "more than 524,288 distinct values, so above 262,144 ns" in words
    assert words.endswith("at most 0.0061 % low")
    found = one_pass.distribution.select_metric(passed.distribution, "latency")
    got = np.repeat(found["value_ns"].to_numpy(), found["n"].to_numpy())
    exact = np.sort(latency)
    assert len(got) == n > len(found)
    assert (got <= exact).all()
    assert (exact - got <= exact / 2**14).all()
    assert (got[exact < 2**18] == exact[exact < 2**18]).all()


def test_what_no_engine_could_help_is_not_left_to_one(tmp_path):
    packets = write_packets(tmp_path / "p.parquet", HARD)
    (tmp_path / "out" / "times.bin").mkdir(parents=True)
    raw = tmp_path / "packets.bin"
    write_raw(raw, RecordKind.PACKET, np.ones(3, PACKET), n_records=4)

    with pytest.raises(TautError, match=r"^taut-count: .*/out: results not written: ") as written:
        count(one_pass.restored(packets), tmp_path / "out")
    with pytest.raises(InputError, match=r"packets\.bin: the file is cut short") as read:
        count(raw, tmp_path / "other")

    assert not isinstance(written.value, InputError)
    assert not isinstance(read.value, NotForOnePassError)


def test_without_the_program_an_engine_counts(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))

    packets = write_packets(tmp_path / "p.parquet", HARD)

    with counted_in_one_pass(packets, 1, Threshold()) as passed:
        assert passed is None
