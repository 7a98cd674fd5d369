"""A soak planned, bounded, ended when it is lost, and read back whatever was written last."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_soak import SECOND_NS, row, segment
from taut.cli.soak_job import takes_words
from taut.core.errors import InputError
from taut.core.files import write_json
from taut.core.requirement import parse_requirement
from taut.experiment.plan import Plan, make_plan
from taut.experiment.room import options_of
from taut.experiment.runner import open_run
from taut.experiment.soak import (
    LIMITS_NS,
    MOST_GAPS,
    MOST_KEPT,
    SLOW_KEPT,
    Doomed,
    Soak,
    next_segment,
    plan_soak,
    refuse_new_limits,
)
from taut.experiment.spec import parse_spec, spec_hash
from taut.records.documents.soak import ROWS_FILE, WHOLE_FILE, SegmentStart
from taut.records.live import Buckets, Fresh, counted
from taut.records.segments import (
    Kept,
    SegmentWriter,
    latencies_of,
    merged,
    read_segments,
)

TEXT = """
name = "soak"
duration = "10s"
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["100kpps"]
"""
SEVERAL = (
    TEXT.replace('["100kpps"]', '["100kpps", "1kpps"]')
    + '[[device]]\ndriver = "taut_forward"\nname = "buffered"\n'
)
DAY_NS = 86_400 * SECOND_NS
NONE = latencies_of(Fresh(np.empty(0, np.int64), np.empty(0, np.uint64)), Buckets(0, 18, 14, 1))


def soak_of(text: str = TEXT, planned_ns: int = DAY_NS, **options: bool) -> Soak:
    return plan_soak(make_plan(parse_spec(text)), planned_ns, **options)


def kept(rows: int, device: str = "eager") -> Kept:
    return Kept(segment([row(n) for n in range(rows)], device=device), NONE, NONE)


def test_records_are_bounded_by_the_whole_length_and_the_disk_does_not_grow_with_it() -> None:
    for planned_ns in (3_600 * SECOND_NS, DAY_NS, 7 * DAY_NS):
        plan = next_segment(soak_of(planned_ns=planned_ns), [])
        assert plan is not None
        bounded = plan.trials[0].bounded
        assert bounded is not None
        sent = 100_000 * planned_ns / 1e9
        assert sent / bounded.one_in == pytest.approx(SLOW_KEPT, rel=0.01)
        assert (bounded.most, bounded.gaps) == (MOST_KEPT, MOST_GAPS)


@pytest.mark.parametrize(
    ("asked", "trace"), [("auto", "tail"), ("continuous", "continuous"), ("off", "off")]
)
@pytest.mark.parametrize("length_s", [60, 86_400])
def test_events_are_bounded_however_short_a_segment_is(
    asked: str, trace: str, length_s: int
) -> None:
    soak = plan_soak(make_plan(parse_spec(TEXT, [f"trace={asked}"])), DAY_NS)

    [trial] = soak.segment(soak.device, 0, length_s * SECOND_NS).trials

    assert trial.trace == trace


@pytest.mark.parametrize(("memory_mib", "most_mib"), [(256, 32), (512, 64), (65_536, 458)])
def test_the_log_of_gaps_leaves_a_guest_most_of_its_memory(memory_mib: int, most_mib: int) -> None:
    options = f"options = {{ memory_mib = {memory_mib} }}\n"
    place = f'link = "vhost"\n[[placement]]\nkind = "vm"\n{options}[[traffic]]'
    plan = next_segment(soak_of(TEXT.replace("[[traffic]]", place)), [])

    assert plan is not None
    options_there: Any = options_of(plan.trials[0])
    assert options_there.gaps_most * 24 / 2**20 == pytest.approx(most_mib, abs=0.5)


def test_a_trial_that_was_interrupted_before_its_segment_is_not_planned_again() -> None:
    for before in ([], [kept(3)]):
        first = next_segment(soak_of(), before)
        assert first is not None
        [trial] = first.trials
        again = next_segment(soak_of(), before, {trial.name})
        assert again is not None
        assert again.trials[0].index == trial.index + 1


def test_what_is_missing_is_measured_in_one_segment_of_a_day_at_most() -> None:
    soak = soak_of(planned_ns=3 * DAY_NS, has_control=True)
    first = next_segment(soak, [])
    assert first is not None
    [trial] = first.trials
    assert (trial.device.name, trial.duration_ns) == ("loopback_memif", DAY_NS)
    whole = [kept(3 * 288, "loopback_memif")]

    resumed = next_segment(soak, [*whole, kept(100)])

    assert resumed is not None
    [trial] = resumed.trials
    assert trial.device.name == "eager"
    assert trial.name == "002-eager-bare-constant_64-100kpps-r3"
    assert trial.record == "tail"
    assert next_segment(soak, [*whole, kept(3 * 288)]) is None


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ('rates = ["100kpps", "1kpps"]', "the experiment has 2: .*choose one: --only PATTERN"),
        ('rates = ["100kpps"]\n[[host]]\nname = "x"', "measures the host as it is"),
    ],
)
def test_what_is_no_one_device_under_one_load_is_refused(changed: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        soak_of(TEXT.replace('rates = ["100kpps"]', changed))


@pytest.mark.parametrize("other", ["buffered*-100kpps", "eager*-1kpps"])
def test_a_soak_of_another_device_or_load_of_the_file_is_not_gone_on_with(
    other: str, tmp_path: Path
) -> None:
    plan = make_plan(parse_spec(SEVERAL))
    begun = plan_soak(plan.only("eager*-100kpps"), DAY_NS)
    write_json(tmp_path / "manifest.json", {"spec": {"hash": spec_hash(begun.spec)}})

    again = plan_soak(plan.only("eager*-100kpps"), DAY_NS)
    assert open_run(Plan(again.spec, ()), tmp_path, resume=True).path == tmp_path
    with pytest.raises(InputError, match="holds another experiment"):
        open_run(Plan(plan_soak(plan.only(other), DAY_NS).spec, ()), tmp_path, resume=True)


def test_a_soak_that_an_earlier_taut_began_of_a_file_with_one_device_goes_on() -> None:
    whole_file = parse_spec(TEXT).model_copy(update={"record": "tail"})

    assert spec_hash(soak_of().spec) == spec_hash(whole_file)


@pytest.mark.parametrize("said", ["record=all", "traffic.0.record=all"])
def test_a_record_of_every_packet_is_refused_wherever_it_is_asked_for(said: str) -> None:
    with pytest.raises(InputError, match="takes a disk that grows with time"):
        plan_soak(make_plan(parse_spec(TEXT, [said])), DAY_NS)


@pytest.mark.parametrize("said", ["record=auto", "traffic.0.record=tail"])
def test_what_asks_for_no_record_of_every_packet_records_the_tail(said: str) -> None:
    soak = plan_soak(make_plan(parse_spec(TEXT, [said])), DAY_NS)

    assert soak.spec.record == "tail"


def test_a_length_below_a_row_is_refused() -> None:
    with pytest.raises(InputError, match="shorter than one row"):
        soak_of(planned_ns=SECOND_NS)


@pytest.mark.parametrize(
    ("require", "rule"),
    [
        ('profile = "cps"', "outage(1ms) <= 1ms"),
        ('"window(1us..1ms)" = ">= 99%"', "window(1us..1ms) >= 99%"),
        ('"in_a_row(1ms)" = "<= 3"', "in_a_row(1ms) <= 3"),
        ('min = "> 1us"', "min > 1us"),
    ],
)
def test_what_rows_cannot_say_is_refused_before_a_day_is_measured(require: str, rule: str) -> None:
    why = rf"soak: {re.escape(rule)}: rows count packets that .* leave it out"

    with pytest.raises(InputError, match=why):
        soak_of(f"{TEXT}[require]\n{require}\n")
    with pytest.raises(InputError, match=why):
        plan_soak(make_plan(parse_spec(TEXT)), DAY_NS, clean=[parse_requirement(rule)])


def test_a_soak_is_not_asked_of_latencies_that_it_takes_for_losses() -> None:
    with pytest.raises(InputError, match=r"'max < 2s': .* the deadline of 1 s counts as lost"):
        plan_soak(make_plan(parse_spec(TEXT)), DAY_NS, clean=[parse_requirement("max < 2s")])


def test_it_is_lost_when_no_packet_to_come_can_make_it_good() -> None:
    text = TEXT + '[require]\n"p99.9" = "< 25us"\nloss = "= 0"\n'
    soak = soak_of(text)
    n_planned = 100_000 * 86_400
    limit = {"25000": n_planned // 2_000}

    doomed = Doomed(soak, [])
    assert doomed.add(row(above=limit)) is None
    assert doomed.add(row(above=limit)) is None
    why = doomed.add(row(above={"25000": 1}))

    assert why == "p99.9 < 25us: 8,640,001 packets failed, which no more packets can make good"
    again = Doomed(soak, [Kept(segment([row(above={"25000": 0}, lost=1)]), NONE, NONE)])
    assert (again.add(row(above={"25000": 0})) or "").startswith("loss = 0: 1 packets failed")


def write_three_rows(run: Path) -> Path:
    start = segment([]).start
    writer = SegmentWriter(run / "soak" / start.trial, start)
    for n in range(3):
        seen = Fresh(np.array([5, 9]), np.array([10 * (n + 1), 1], np.uint64))
        writer.add(row(n), seen, Fresh(np.array([7]), np.array([n + 1], np.uint64)))
    writer.close()
    return run / "soak" / start.trial / ROWS_FILE


def disk_gb(soak: Soak, run: Path) -> tuple[float, float]:
    """Give what it says that a soak takes of the disk: while it runs, and afterwards."""
    words = next(iter(takes_words(soak, run)))
    found = re.match(r"Disk: at most ([0-9.,]+) (.)B while it runs and ([0-9.,]+) (.)B af", words)
    assert found, words
    most, of_most, kept, of_kept = found.groups()
    scale = {"G": 1.0, "M": 1e-3}
    return float(most) * scale[of_most], float(kept) * scale[of_kept]


@pytest.mark.parametrize(("driver", "n_logs"), [("testpmd", 0), ("taut_forward", 1), ("chain", 2)])
def test_what_a_soak_takes_of_the_disk_has_the_log_of_every_process_that_writes_one(
    driver: str, n_logs: int, tmp_path: Path
) -> None:
    bridge, one = (TEXT.replace("taut_forward", name) for name in ("linux_bridge", driver))

    least, least_kept = disk_gb(soak_of(bridge), tmp_path)
    most, kept = disk_gb(soak_of(one), tmp_path)

    assert most - least == pytest.approx((24 + 12) * n_logs * MOST_GAPS / 1e9, abs=0.11)
    assert kept - least_kept == pytest.approx(12 * n_logs * MOST_GAPS / 1e9, abs=0.11)


def test_what_a_soak_takes_of_the_disk_has_every_segment_of_its_length(tmp_path: Path) -> None:
    day, days = (disk_gb(soak_of(planned_ns=n * DAY_NS), tmp_path) for n in (1, 3))
    _, with_control = disk_gb(soak_of(has_control=True), tmp_path)

    assert days[1] == pytest.approx(3 * day[1], abs=0.11)
    assert days[0] - day[0] == pytest.approx(2 * day[1], abs=0.11)
    # The control logs no gaps.
    assert with_control == pytest.approx(2 * day[1] - 12 * MOST_GAPS / 1e9, abs=0.11)


def test_how_much_is_missing_is_said_before_a_soak_goes_on(tmp_path: Path) -> None:
    *_, whole = takes_words(soak_of(), tmp_path)
    write_three_rows(tmp_path)

    *_, missing = takes_words(soak_of(), tmp_path)

    assert whole.startswith("Time: 24 h 0 min in rows of 5 min 0 s.")
    assert missing.startswith("Time: 23 h 45 min that are missing of 24 h 0 min in rows of ")


def test_the_rows_of_a_killed_segment_are_those_that_were_whole(tmp_path: Path) -> None:
    rows = write_three_rows(tmp_path)
    # A fourth row is whole, its latencies are not there; a fifth is cut off.
    lines = rows.read_text().splitlines()
    rows.write_text("\n".join([*lines, lines[-1].replace('"n": 2,', '"n": 3,'), lines[-1][:40]]))

    [found] = read_segments(tmp_path)

    assert found.segment.ended == "killed"
    assert [one.n for one in found.segment.rows] == [0, 1, 2]
    assert found.on_time.count.tolist() == [30, 1]
    assert found.all.ns.tolist() == [5, 7, 9]
    assert found.all.figures().n == 34
    assert found.all.sum_ns == 180


def test_the_latencies_of_a_row_are_on_the_disk_before_they_replace_those_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        found = os.fstat(descriptor)
        synced.append((found.st_ino, found.st_size))

    monkeypatch.setattr(os, "fsync", noted)
    whole = write_three_rows(tmp_path).with_name(WHOLE_FILE).stat()

    assert (whole.st_ino, whole.st_size) in synced


def test_a_segment_that_died_before_it_began_is_taken_over(tmp_path: Path) -> None:
    start = segment([]).start
    folder = tmp_path / "soak" / start.trial
    folder.mkdir(parents=True)
    assert read_segments(tmp_path) == []

    SegmentWriter(folder, start).close()

    assert len(read_segments(tmp_path)) == 1
    with pytest.raises(FileExistsError):
        SegmentWriter(folder, start)


def test_a_damaged_segment_is_one_line(tmp_path: Path) -> None:
    start = segment([]).start
    SegmentWriter(tmp_path / "soak" / start.trial, start).close()
    rows = tmp_path / "soak" / start.trial / ROWS_FILE
    rows.write_text(json.dumps({"n": "x"}) + "\n")

    with pytest.raises(InputError, match="of another version, or damaged"):
        read_segments(tmp_path)


def test_percentiles_of_segments_are_of_all_their_packets_not_means() -> None:
    buckets = Buckets(1 << 20, 18, 14, 1_000_000_000)
    fast = latencies_of(Fresh(np.array([100]), np.array([9_900], np.uint64)), buckets)
    slow = latencies_of(Fresh(np.array([100_000]), np.array([100], np.uint64)), buckets)

    found = merged([slow, fast]).figures()

    assert found.percentiles_ns == {
        "p50": 100,
        "p90": 100,
        "p99": 100,
        "p99.9": 100_000,
        "p99.99": 100_000,
    }
    assert merged([slow, fast]).above(100) == 100
    assert merged([]).figures().n == 0


def test_a_bucket_that_holds_the_limit_counts_as_above() -> None:
    buckets = Buckets(1 << 20, 18, 14, 1_000_000_000)
    # 1,000 ns; 1,000,000 to 1,000,031 ns.
    index = np.array([1_000, 293_394])
    found = latencies_of(Fresh(index, np.array([1, 1], np.uint64)), buckets)

    above = [found.above(ns) for ns in (999, 1_000, 1_000_000, 1_000_031)]
    as_slow = [found.above(ns, is_strict=True) for ns in (1_000, 1_001, 1_000_031, 1_000_032)]

    assert above == as_slow == [2, 1, 1, 0]


def test_a_packet_counts_when_its_fate_is_known_and_one_of_the_warm_up_never() -> None:
    names = ("late", "duplicates", "orphans", "out_of_sequence", "foreign")
    counters = dict.fromkeys(names, 0) | {
        "due": 150,  # ten of them in flight
        "sent": 140,
        "matched": 120,
        "lost": 10,
        "unsent": 10,
        "cold": 30,
        "unsent_cold": 5,
        "lost_cold": 4,
        "void": 20,
        "void_cold": 15,
        "lost_void": 2,
    }

    found = counted(counters)

    assert (found["due"], found["sent"], found["unsent"]) == (110, 105, 5)
    assert (found["lost"], found["void"], found["lost_void"]) == (6, 5, 2)


def test_requirements_and_clean_rules_say_which_latencies_are_counted() -> None:
    soak = plan_soak(
        make_plan(parse_spec(TEXT + '[require]\n"within(2ms)" = ">= 99%"\n')),
        DAY_NS,
        clean=[parse_requirement("max < 50us")],
    )

    assert soak.limits_ns == (10_000, 50_000, 100_000, 1_000_000, 2_000_000, 10_000_000)
    assert soak.strict_ns == {50_000}
    assert isinstance(segment([]).start, SegmentStart)


def test_limits_that_rows_from_before_count_are_gone_on_with(tmp_path: Path) -> None:
    counted_then = {str(ns): 0 for ns in (*LIMITS_NS, 5_000_000)}
    before = [Kept(segment([row(above=counted_then)]), NONE, NONE)]

    refuse_new_limits(soak_of(TEXT + '[require]\nmax = "< 5ms"\n'), tmp_path, before)
    refuse_new_limits(soak_of(), tmp_path, before)
    with pytest.raises(InputError, match="do not count packets above 7 ms"):
        refuse_new_limits(soak_of(TEXT + '[require]\nmax = "< 7ms"\n'), tmp_path, before)
