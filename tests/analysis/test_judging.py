"""Requirements judged over made runs: each verdict, and rows of packets as planted."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from made_run import VARIANTS, MadeTrial, MadeVariant, fail_trial, make_run
from taut.analysis.effective import BlockCounts
from taut.analysis.failing import EVER_NS, Packets, independent
from taut.analysis.judging import judge_run, overall, required_by, worth_words
from taut.analysis.proof import Verdict, chance, shown
from taut.analysis.results import analyse_run
from taut.core.requirement import parse_requirement
from taut.records.rundir import RunDirectory

# Every packet takes 0.9 to 2 us, but for those that met a stall of 1 ms.
CALM = MadeTrial(tail_share=0.0, n_lost=0, generator_gap=None, n_duplicates=0, n_orphans=0)


def analysed(folder, *trials, failed=False):
    made = tuple(MadeVariant(f"device{i}", "taut_forward", one) for i, one in enumerate(trials))
    run = RunDirectory(make_run(folder, made, repetitions=1, failed=failed))
    return run, analyse_run(run)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    calm = replace(CALM, device_stall=None)
    return analysed(tmp_path_factory.mktemp("calm") / "run", calm, CALM, replace(CALM, n_lost=3))


def verdicts(run, text, **options):
    return [j.verdict for j in judge_run(*run, [parse_requirement(text)], **options)]


MET, NOT_MET, NOT_SHOWN = Verdict.MET, Verdict.NOT_MET, Verdict.NOT_SHOWN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p99.9 < 100us", [MET, NOT_SHOWN, NOT_SHOWN]),
        ("p50 < 3us", [MET, MET, MET]),
        ("p50 < 500ns", [NOT_MET, NOT_MET, NOT_MET]),
        ("max < 100us", [MET, NOT_MET, NOT_MET]),
        ("min >= 500ns", [MET, MET, MET]),
        ("min > 1us", [NOT_MET, NOT_MET, NOT_MET]),
        ("loss = 0", [MET, MET, NOT_MET]),
        ("loss < 10%", [MET, MET, MET]),
        ("loss < 1e-6", [NOT_SHOWN, NOT_SHOWN, NOT_SHOWN]),
        ("within(100us) >= 99%", [MET, NOT_SHOWN, NOT_SHOWN]),
        ("window(500ns..100us) >= 99%", [MET, NOT_SHOWN, NOT_SHOWN]),
        ("window(1us..100us) >= 99%", [NOT_MET, NOT_MET, NOT_MET]),
        ("window(500ns..100us) >= 100%", [MET, NOT_MET, NOT_MET]),
        ("in_a_row(100us) <= 2", [MET, NOT_MET, NOT_MET]),
        ("outage(100us) <= 100us", [MET, NOT_MET, NOT_MET]),
        ("outage(100us) <= 1ms", [MET, MET, MET]),
        ("max < 2ms for 1h", [NOT_SHOWN, NOT_SHOWN, NOT_SHOWN]),
    ],
)
def test_each_verdict(run, text, expected):
    assert verdicts(run, text) == expected


def test_rows_of_packets_are_those_of_a_stall(run):
    trials = run[0].trials()
    expected = []
    for trial in trials:
        table = Packets([trial], 0).longest(100_000)
        assert table is not None
        expected.append((table.n_in_a_row, table.outage_ns))

    assert expected[0] == (0, 0)
    # 1 ms without a packet: of the hundred due in it those of the last 100 us are in time.
    n_in_a_row, outage_ns = expected[1]
    assert abs(n_in_a_row - 90) <= 2
    assert abs(outage_ns - 900_000) <= 20_000


def test_lost_packets_count_where_they_are_asked_for(run):
    packets = Packets([run[0].trials()[2]], 3)

    lost = packets.failing(EVER_NS, is_strict=False, with_lost=True)
    none = packets.failing(EVER_NS, is_strict=False, with_lost=False)

    assert (lost.n, lost.n_failed) == (19_000, 3)
    assert (none.n, none.n_failed) == (18_997, 0)


def test_packets_out_of_their_window_are_early_late_or_lost(run):
    packets = Packets([run[0].trials()[2]], 3)
    sooner = packets.sooner(1_000, is_strict=False)
    later = packets.failing(100_000, is_strict=False, with_lost=False)

    found = packets.out_of_window(1_000, 100_000)

    assert 0 < later.n_failed < 1_000 < sooner.n_failed
    assert (found.n_early, found.n_late, found.n_lost) == (sooner.n_failed, later.n_failed, 3)
    assert found.n_failed == found.n_early + found.n_late + found.n_lost
    [*_, one] = judge_run(*run, [parse_requirement("window(1us..100us) >= 100%")])
    assert f"({found.n_early:,} early, {found.n_late:,} late, 3 lost)" in one.said


def test_too_few_packets_say_how_long_to_measure(run):
    [one, *_] = judge_run(*run, [parse_requirement("p99.9999 < 100us")])

    assert one.verdict is NOT_SHOWN
    assert one.n == 19_000
    assert one.n_eff is not None
    assert "2,995,732 would show it if none of the rest failed; measure" in one.said
    assert one.needed_ns == pytest.approx(200_000_000 * 2_995_732 / one.n_eff, rel=0.02)


def test_what_the_generator_did_is_never_the_devices(tmp_path):
    gap = replace(CALM, generator_gap=(100_000_000, 160_000_000))
    run = analysed(tmp_path / "run", gap)

    assert verdicts(run, "p99 < 2ms") == [Verdict.INVALID]
    assert verdicts(run, "p99 < 2ms", without_void=True) != [Verdict.INVALID]


@pytest.fixture(scope="module")
def held_up(tmp_path_factory):
    """A stall of the device; a gap of the generator touched all that took longer than 80 us."""
    both = replace(
        CALM,
        device_stall=(150_000_000, 150_490_000),
        generator_gap=(150_400_000, 150_410_000),
    )
    return analysed(tmp_path_factory.mktemp("held_up") / "run", both)


@pytest.mark.parametrize("text", ["max < 100us", "in_a_row(100us) <= 2", "outage(100us) <= 100us"])
def test_what_only_packets_of_a_late_generator_show_is_no_failure(held_up, text):
    [one] = judge_run(*held_up, [parse_requirement(text)])

    assert one.verdict is Verdict.INVALID
    assert "not so without packets that the generator itself held up" in one.said
    assert verdicts(held_up, text, without_void=True) == [MET]


@pytest.mark.parametrize("text", ["max < 10us", "in_a_row(10us) <= 2", "outage(10us) <= 20us"])
def test_what_other_packets_show_as_well_is_a_failure(held_up, text):
    assert verdicts(held_up, text) == [NOT_MET]
    assert verdicts(held_up, text, without_void=True) == [NOT_MET]


@pytest.mark.parametrize(("n_lost", "expected"), [(0, Verdict.INVALID), (3, NOT_MET)])
@pytest.mark.parametrize("text", ["loss = 0", "within(1ms) >= 100%", "in_a_row(1ms) <= 0"])
def test_what_was_lost_while_the_generator_was_late_is_no_loss_of_the_devices(
    tmp_path, text, n_lost, expected
):
    gap = (150_000_000, 150_100_000)
    lost = replace(CALM, device_stall=None, generator_gap=gap, n_lost=n_lost, n_void_lost=2)
    run = analysed(tmp_path / "run", lost)

    assert verdicts(run, text) == [expected]
    assert verdicts(run, text, without_void=True) == [NOT_MET if n_lost else MET]
    [trial] = run[0].trials()
    found = Packets([trial], n_lost + 2, without_void=True)
    assert found.failing(EVER_NS, is_strict=False, with_lost=True).n_failed == n_lost


@pytest.mark.parametrize("n_void_lost", [0, 50])
def test_a_generator_that_stands_still_behind_a_lost_packet_makes_no_outage(tmp_path, n_void_lost):
    # Number 14,999 is lost; the next leaves 1 ms late, and comes back at once, or is lost, too.
    gap = (150_000_000, 151_000_000)
    lost = replace(CALM, device_stall=None, generator_gap=gap, lost=(14_999,))
    lost = replace(lost, n_void_lost=n_void_lost)
    run = analysed(tmp_path / "run", lost)

    assert verdicts(run, "outage(1ms) <= 500us") == [Verdict.INVALID]
    assert verdicts(run, "outage(1ms) <= 500us", without_void=True) == [MET]
    assert verdicts(run, "outage(1ms) <= 5us") == [NOT_MET]
    trials = run[0].trials()
    all_of_it, own = (Packets(trials, 1, without_void=one).longest(10**6) for one in (False, True))
    assert all_of_it.outage_ns == pytest.approx(1_010_000, abs=10_000)
    assert own.outage_ns == pytest.approx(10_000, abs=500)


@pytest.mark.parametrize("text", ["outage(1ms) <= 6ms", "in_a_row(1ms) <= 600"])
def test_a_void_packet_inside_an_outage_does_not_cut_it_in_two(tmp_path, text):
    gap = (105_000_000, 105_001_000)
    lost = replace(CALM, device_stall=None, generator_gap=gap, lost=tuple(range(10_000, 11_000)))
    run = analysed(tmp_path / "run", lost)

    assert verdicts(run, text) == [NOT_MET]
    assert verdicts(run, text, without_void=True) == [NOT_MET]


def test_a_failed_trial_judges_nothing(tmp_path):
    run = analysed(tmp_path / "run", CALM, failed=True)

    [one] = judge_run(*run, [parse_requirement("p50 < 1s")])

    assert one.verdict is Verdict.INVALID
    assert "1 of 2 trials failed" in one.said


def failed(folder, name, n_devices):
    """A run of the floor and of devices in which every trial of one device failed."""
    run = RunDirectory(make_run(folder, VARIANTS[: 1 + n_devices]))
    for trial in run.trials():
        if trial.meta.dut.name == name:
            fail_trial(trial.path)
    return run, analyse_run(run)


def test_a_device_of_which_every_trial_failed_is_judged_beside_the_others(tmp_path):
    run = failed(tmp_path / "run", "buffered", 2)

    eager, buffered = judge_run(*run, [parse_requirement("p50 < 1s")])

    assert (eager.verdict, eager.called) == (MET, "eager, 100 kpkt/s, 64 B")
    assert (buffered.verdict, buffered.called) == (Verdict.INVALID, "buffered, 100 kpkt/s, 64 B")
    assert buffered.said == "2 of 2 trials failed"
    assert [name.split("-")[1] for name in buffered.trials] == ["buffered", "buffered"]


def test_the_floor_never_passes_in_the_place_of_a_device(tmp_path):
    run = failed(tmp_path / "run", "eager", 1)

    [one] = judge_run(*run, [parse_requirement("p50 < 1s")])

    assert (one.verdict, one.said) == (Verdict.INVALID, "2 of 2 trials failed")
    alone = failed(tmp_path / "floor", "none", 0)
    assert [judged.called for judged in judge_run(*alone, [parse_requirement("p50 < 1s")])] == [
        "floor, 100 kpkt/s, 64 B"
    ]


def test_a_guest_that_did_not_start_failed_as_the_device_it_would_have_been(tmp_path):
    run = RunDirectory(make_run(tmp_path / "run", VARIANTS[1:2]))
    guest = {"claim": "emulated: no latency", "kernel": "6.1", "parameters": "quiet"}
    for trial in run.trials():
        meta = json.loads((trial.path / "trial.json").read_text())
        meta["dut"]["guest"] = guest | {"cpu": 1, "cpu_thread": 7}
        (trial.path / "trial.json").write_text(json.dumps(meta))
    fail_trial(run.trials()[-1].path)

    [one] = judge_run(run, analyse_run(run), [parse_requirement("p50 < 1s")])

    assert one.called.startswith("eager (emulated)")
    assert (one.verdict, one.said) == (Verdict.INVALID, "1 of 2 trials failed")


def test_the_worst_verdict_is_that_of_all(run):
    both = [parse_requirement(text) for text in ("p50 < 3us", "loss = 0")]

    assert overall(judge_run(*run, both)) is NOT_MET
    assert overall(judge_run(*run, both[:1])) is MET


def test_among_many_requirements_a_failure_that_luck_explains_is_left_open(run):
    calm = Packets([run[0].trials()[0]], 0)

    def luck(limit_ns):
        counted = calm.failing(limit_ns, is_strict=False, with_lost=False)
        return chance(counted.n_eff_failed, counted.n_eff, 0.5)

    barely = next(ns for ns in range(900, 2000) if 0.005 < luck(ns) < 0.04)
    texts = [f"p50 <= {barely}ns", *(f"p50 <= {ns}ns" for ns in range(3_000, 3_020))]

    alone = judge_run(*run, [parse_requirement(texts[0])])[0]
    among = judge_run(*run, [parse_requirement(text) for text in texts])[0]

    # Of the other two devices the median may lie on either side: three gates, not one.
    assert alone.verdict is (NOT_MET if 3 * luck(barely) < 0.05 else NOT_SHOWN)
    assert alone.chance == among.chance
    assert among.verdict is NOT_SHOWN
    assert "by itself it would fail" in among.said


def test_a_run_knows_what_its_experiment_requires(tmp_path):
    run = RunDirectory(make_run(tmp_path / "run", repetitions=1))
    assert required_by(run) == []
    manifest = json.loads((run.path / "manifest.json").read_text())
    manifest["spec"]["resolved"] = {"device": [], "require": ["loss = 0"]}
    (run.path / "manifest.json").write_text(json.dumps(manifest))

    assert [one.text for one in required_by(run)] == ["loss = 0"]


def test_late_packets_of_one_stall_are_few_independent_ones(run):
    packets = Packets([run[0].trials()[1]], 0)

    counted = packets.failing(100_000, is_strict=False, with_lost=False)

    assert counted.n_failed > 80
    assert counted.n_eff is not None
    assert counted.n_eff_failed < 10
    assert np.isclose(counted.n_eff_failed, counted.n_failed / counted.n * counted.n_eff)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loss = 0", NOT_MET),
        ("loss < 10%", NOT_SHOWN),
        ("max < 100us", NOT_MET),
        ("p99 < 1us", NOT_MET),
        ("in_a_row(1ms) <= 9", NOT_SHOWN),
    ],
)
def test_without_records_what_needs_none_is_judged(tmp_path, text, expected):
    run, analysis = analysed(tmp_path / "run", replace(CALM, n_lost=3))
    for trial in run.trials():
        trial.packets.unlink()

    [one] = judge_run(run, analysis, [parse_requirement(text)])

    assert one.verdict is expected, one.said


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ("all", "packets.parquet is not there; `taut pack --without-records` leaves it out"),
        ("none", "not every packet was recorded"),
    ],
)
def test_records_that_were_left_out_are_told_from_those_never_made(tmp_path, record, why):
    run, analysis = analysed(tmp_path / "run", replace(CALM, n_lost=3))
    [trial] = run.trials()
    trial.packets.unlink()
    document = json.loads((trial.path / "trial.json").read_text())
    document["traffic"]["record"] = record
    (trial.path / "trial.json").write_text(json.dumps(document))
    rules = [parse_requirement(text) for text in ("loss < 10%", "in_a_row(1ms) <= 9")]

    of_share, in_a_row = judge_run(RunDirectory(run.path), analysis, rules)

    assert (of_share.verdict, in_a_row.verdict) == (NOT_SHOWN, NOT_SHOWN)
    assert of_share.said.endswith(f" packets were lost; {why}")
    assert in_a_row.said == why


def test_losses_of_one_outage_are_few_however_alike_all_that_came_back_is():
    n_blocks, n_lost = 50, 500
    block = np.append(np.arange(n_blocks), 0)
    latency = np.append(np.full(n_blocks, 11_000), EVER_NS + 1)
    counts = BlockCounts(block, latency, np.append(np.full(n_blocks, 20_000), n_lost))
    share = n_lost / counts.n.sum()

    n_eff = independent(counts, EVER_NS, share)

    assert n_eff < 3_000
    assert shown(share * n_eff, n_eff, 0.001) is NOT_SHOWN


def test_where_nothing_failed_packets_in_time_say_how_late_ones_come():
    block = np.repeat(np.arange(50), 2)
    late = np.where(np.arange(50) % 4, 0, 400)  # in every fourth block, together
    n = np.stack([np.full(50, 20_000), late], axis=1).ravel()
    counts = BlockCounts(block, np.tile([11_000, 90_000], 50), n)

    assert independent(counts, 100_000, 0.0) < counts.n.sum() / 100


def test_a_device_that_was_planned_and_has_no_trial_does_not_pass(tmp_path):
    run = RunDirectory(make_run(tmp_path / "run", VARIANTS[:3]))
    manifest = json.loads((run.path / "manifest.json").read_text())
    devices = [{"name": one.name, "driver": one.driver} for one in VARIANTS[1:3]]
    manifest["spec"]["resolved"] = {"device": devices, "require": []}
    manifest["order"] = [trial.name for trial in run.trials()]
    (run.path / "manifest.json").write_text(json.dumps(manifest))
    for trial in run.trials():
        if trial.meta.dut.name != "eager" or trial.meta.repetition == 2:
            shutil.rmtree(trial.path)

    eager, buffered = judge_run(run, analyse_run(run), [parse_requirement("p50 < 1s")])

    assert eager.verdict is MET
    assert (buffered.verdict, buffered.called) == (
        Verdict.INVALID,
        "buffered-bare-constant-64-100kpps",
    )
    assert buffered.said == "none of its trials is there, 2 planned"
    assert [name[:3] for name in buffered.trials] == ["002", "005"]


@pytest.mark.parametrize(
    ("n_failed", "said"),
    [
        (2, "worth 1,000 independent ones, 629 would show it if none of the rest failed"),
        (
            10,
            "worth 1,000 independent ones; as often as packets failed, no length would show that "
            "it is met",
        ),
    ],
)
def test_how_many_packets_would_do_is_said_where_any_number_would(n_failed, said):
    assert worth_words(n_failed, 1_000, 0.01) == said
