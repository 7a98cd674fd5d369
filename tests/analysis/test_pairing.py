"""What is compared with what, and the one line when nothing is."""

import json
from pathlib import Path

import pytest

from made_documents import made_analysis, made_result, made_variant
from made_run import VARIANTS, make_run
from taut.analysis.pairing import match_variants, read_analysis
from taut.analysis.results import analyse_run
from taut.core.errors import InputError
from taut.records.documents.results import RESULTS_FILE
from taut.records.rundir import RunDirectory


def row(dut="eager", pps=100_000.0, **changes):
    return {
        "dut": dut,
        "is_floor": False,
        "link": "memif",
        "placement": "bare",
        "host": "as found",
        "traffic": "constant",
        "schedule": "constant",
        "schedule_options": {},
        "flows": 1,
        "frame": "64",
        "both": False,
        "asked_pps": pps,
        "achieved_pps": pps,
        "latency_ns": {"n": 1000},
        **changes,
    }


def run(*rows, name="a", failed=()):
    made = tuple(made_variant(**row) for row in rows)
    return RunDirectory(Path(name)), made_analysis(failed, made)


def failed(dut="eager", pps=100_000.0, **changes):
    identity = {"dut": dut, "asked_pps": pps, **changes}
    return made_result(name=f"{dut}-{pps}", status="failed", sent=None, **identity)


def silent(*args, **changes):
    return row(*args, latency_ns={"n": 0}, warm_up={"matched": 0}, **changes)


def as_b(side):
    return RunDirectory(Path("b")), side[1]


def names(a, b):
    matches, _, alone = match_variants(a, as_b(b))
    return [(m.a.device.dut, m.b.device.dut) for m in matches], told(alone)


def told(alone):
    return [f"{one.why}: {one.where}" for one in alone]


def refusal(a, b):
    with pytest.raises(InputError) as caught:
        match_variants(a, as_b(b))
    return str(caught.value)


def test_the_only_devices_are_compared_whatever_they_are_called():
    assert names(run(row("stock")), run(row("tuned"))) == ([("stock", "tuned")], [])


def test_several_devices_are_compared_by_name_and_the_others_are_said():
    matched, unmatched = names(run(row("x"), row("y")), run(row("y"), row("z")))

    assert matched == [("y", "y")]
    assert unmatched == ["only in A: x at 100 kpkt/s, 64 B", "only in B: z at 100 kpkt/s, 64 B"]


def test_loads_are_matched_one_by_one():
    a = run(row(pps=10_000.0), row(pps=20_000.0))
    b = run(row(pps=20_000.0), row(pps=30_000.0))

    matched, unmatched = names(a, b)

    assert len(matched) == 1
    assert [word.split()[:3] for word in unmatched] == [["only", "in", "A:"], ["only", "in", "B:"]]


def test_measured_rates_of_captures_agree_nearly():
    a, b = row("capture", None, achieved_pps=9_999.8), row("capture", None, achieved_pps=10_001.0)

    assert names(run(a), run(b))[0] == [("capture", "capture")]
    assert "no load in common" in refusal(run(a), run({**b, "achieved_pps": 11_000.0}))


def test_floors_are_compared_over_the_same_link_only():
    floors = [
        row("loopback_memif", is_floor=True),
        row("loopback_veth", is_floor=True, link="veth"),
    ]

    matched, _ = names(run(*floors, row()), run(*reversed(floors), row()))

    assert matched == [("eager", "eager"), *[(f["dut"], f["dut"]) for f in floors]]


def test_one_device_over_two_links_is_told_apart():
    both = [row(), row(link="veth")]
    matches, *_ = match_variants(run(*both), run(*reversed(both), name="b"))

    assert [(m.a.device.link, m.b.device.link) for m in matches] == [
        ("memif", "memif"),
        ("veth", "veth"),
    ]


def test_other_loads_are_refused_with_both_lists():
    text = refusal(run(row()), run(row(pps=10_000.0), row(frame="256")))

    assert text.startswith(
        "a and b: not comparable: no load in common (A: 100 kpkt/s, 64 B; B: 10 "
    )
    assert "measure both under one load" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schedule": "poisson"}, "64 B (poisson)"),
        ({"schedule_options": {"jitter": "10%"}}, "64 B (constant, jitter=10%)"),
        ({"flows": 1000}, "64 B (1000 flows)"),
    ],
)
def test_the_same_name_is_not_the_same_load(changes, words):
    text = refusal(run(row()), run(row(**changes)))

    assert "no load in common (A: 100 kpkt/s, 64 B; B: 100 kpkt/s, " in text
    assert f"{words})" in text


def test_options_agree_whether_they_are_text_or_numbers():
    a, b = (row(schedule="burst", schedule_options={"size": size}) for size in (32, "32"))

    assert names(run(a), run(b))[0] == [("eager", "eager")]


def test_other_devices_are_refused_although_the_floors_agree():
    floor = row("loopback", is_floor=True)

    text = refusal(run(floor, row("x"), row("y")), run(floor, row("z")))

    assert "no device in common at 100 kpkt/s, 64 B (A: " in text


def test_a_card_is_never_set_beside_virtual_ports():
    text = refusal(run(row(link="pci")), run(row(link="memif")))

    assert "A over pci, B over memif" in text


def test_a_run_without_latencies_is_refused():
    assert "B has no packet" in refusal(run(row()), run(row(latency_ns={"n": 0})))


def test_rates_within_the_tolerance_are_told_apart_where_both_runs_have_them():
    side = run(row(pps=1_000_000.0), row(pps=1_005_000.0))

    matches, _, unmatched = match_variants(side, as_b(side))

    assert [(m.a.load.asked_pps, m.b.load.asked_pps) for m in matches] == [
        (1_000_000.0, 1_000_000.0),
        (1_005_000.0, 1_005_000.0),
    ]
    assert unmatched == []


def test_of_several_rates_within_the_tolerance_the_nearest_is_compared():
    [match] = match_variants(
        run(row(pps=1_000_000.0)), as_b(run(row(pps=1_004_000.0), row(pps=1_001_000.0)))
    )[0]

    assert match.b.load.asked_pps == 1_001_000.0


def missed(a, b):
    _, found, alone = match_variants(a, as_b(b))
    return [(one.where, one.why) for one in found], told(alone)


@pytest.mark.parametrize(
    ("b", "why"),
    [
        (run(row(), silent(pps=200_000.0)), "no packet came back in B"),
        (run(row(), failed=[failed(pps=200_000.0)]), "1 of 1 trials failed in B"),
    ],
)
def test_a_device_that_lost_everything_or_failed_is_missed_and_not_only_in_the_other(b, why):
    a = run(row(), row(pps=200_000.0))

    assert names(a, b)[0] == [("eager", "eager")]
    assert missed(a, b) == ([("eager at 200 kpkt/s, 64 B", why)], [])


def test_some_trials_that_failed_leave_the_others_of_their_device():
    b = run(row(), failed=[failed()])

    assert names(run(row()), b) == ([("eager", "eager")], [])
    assert missed(run(row()), b) == ([], [])


@pytest.mark.parametrize(
    "b",
    [run(silent(), row("buffered")), run(row("buffered"), failed=[failed()])],
)
def test_no_other_device_stands_in_for_one_without_a_latency(b):
    text = refusal(run(row()), b)

    assert text.startswith("a and b: not comparable: eager at 100 kpkt/s, 64 B: ")
    assert text.endswith(" in B; see its report")


def test_the_only_device_that_is_silent_is_the_reason_whatever_it_is_called():
    floor = row("loopback", is_floor=True)

    text = refusal(run(floor, row("stock")), run(floor, silent("tuned")))

    assert text == (
        "a and b: not comparable: stock → tuned at 100 kpkt/s, 64 B: no packet came back in B; "
        "see its report"
    )


def test_floors_do_not_stand_in_for_a_device_that_is_silent_in_both_runs():
    floor = row("loopback", is_floor=True)

    text = refusal(run(floor, silent()), run(floor, failed=[failed()]))

    assert "eager at 100 kpkt/s, 64 B: no packet came back in A; 1 of 1 trials failed in B" in text
    assert "no packet came back in A and B" in refusal(run(floor, silent()), run(floor, silent()))


def test_a_guest_that_failed_has_its_name_without_a_claim():
    claim = "emulated: no latency claim"
    a = run(row("l2 (emulated)", claim=claim), row("l3 (emulated)", claim=claim), row("x"))
    b = run(row("l2 (emulated)", claim=claim), row("x"), failed=[failed("l3")])

    assert missed(a, b)[0] == [
        ("l3 (emulated) → l3 at 100 kpkt/s, 64 B", "1 of 1 trials failed in B")
    ]


def test_an_analysis_of_a_newer_taut_is_not_overwritten(tmp_path):
    run = RunDirectory(make_run(tmp_path / "run", VARIANTS[:1], repetitions=1))
    analyse_run(run)
    results = run.path / RESULTS_FILE
    text = json.dumps(json.loads(results.read_text()) | {"format": 3})
    results.write_text(text)

    with pytest.raises(InputError, match=r"results\.json: format 3, this taut reads 2; update"):
        read_analysis(run)

    assert results.read_text() == text
