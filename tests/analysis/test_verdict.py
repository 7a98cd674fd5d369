import pytest

from made_documents import NOTHING, made_result, made_variant
from taut.analysis import verdict as analysis_verdict
from taut.analysis.trust import trust_sentence
from taut.core.percentiles import PERCENTILES


def verdict(rows, trials):
    """The verdict of documents with these keys."""
    made = [made_variant(**row) for row in rows], [made_result(**trial) for trial in trials]
    return analysis_verdict.verdict(*made)


def variant(dut, p50, **changes):
    row = {
        "dut": dut,
        "is_floor": False,
        "link": "memif",
        "host": "as found",
        "traffic": "constant",
        "schedule": "constant",
        "frame": "64",
        "both": False,
        "asked_pps": 100_000.0,
        "latency_ns": {"p50": p50, "p99": 2 * p50, "p99.9": 3 * p50, "max": 9 * p50},
        "unsupported_percentiles": ["p99.99"],
        "sent": 1000,
        "lost": 0,
        "unsent": 0,
        "void_share": 0.0,
        "instrument_limited": False,
        "trials": [f"t-{dut}"],
    }
    return row | changes


def trial(dut, p50=1000, repetition=1, **changes):
    row = {
        "name": f"t-{dut}",
        "index": 10 * repetition,
        "repetition": repetition,
        "status": "whole",
        "driver": "taut_forward",
        "host": "as found",
        "latency_ns": {"n": 10_000, "p50": p50},
        "unsupported_percentiles": [],
        "sums_reconcile": True,
        "cores": {},
    }
    return row | changes


def repeated(of, **p50s):
    """Variants with `of` repetitions in turn, whose medians spread a little, and their trials."""
    trials = [
        trial(dut, p50 + 3 * n % 7, n, name=f"{dut}-{n}", index=10 * n + at)
        for n in range(1, of + 1)
        for at, (dut, p50) in enumerate(p50s.items())
    ]
    rows = [
        variant(dut, p50, trials=[t["name"] for t in trials if t["name"].startswith(dut)])
        for dut, p50 in p50s.items()
    ]
    return rows, trials


def test_verdict_compares_devices_and_names_the_floor():
    rows = [
        variant("loopback", 500, is_floor=True),
        variant("buffered", 50_000),
        variant("eager", 1000),
    ]

    said = verdict(rows, [trial("eager"), trial("buffered", 50_000)])

    assert said.startswith(
        "At 100 kpkt/s, 64 B: eager median 1 µs (p99.9 3 µs); buffered median 50"
    )
    assert "buffered median 50 µs (50 times eager, one run each). " in said
    assert "floor is 500 ns over memif" in said
    assert said.count(".") - said.count("p99.") == 2  # sentences


def test_floors_of_several_rows_are_one_range_for_each_link():
    floors = (("memif", "as found", 500), ("memif", "trimmed", 900), ("veth", "as found", 3000))
    rows = [
        variant("loopback", p50, is_floor=True, link=link, host=host) for link, host, p50 in floors
    ]
    rows += [variant("eager", 1000, host=host) for host in ("as found", "trimmed")]

    said = verdict(rows, [trial("eager")])

    assert "floor is 500 ns to 900 ns over memif and 3 µs over veth" in said


def test_times_carry_their_interval_or_how_few_runs_they_are_of():
    few, enough = (verdict(*repeated(n, eager=1000, buffered=50_000)) for n in (3, 6))

    assert "(49.8 times eager, 49.7 to 49.9 over 3 runs each)" in few
    assert "No proof, and trust percentiles as far as p99.9: 3 runs each are too few for" in few
    assert "(49.8 times eager, 95 % interval 49.7 to 50)" in enough
    assert "Trust percentiles as far as p99.9: " in enough


def test_devices_that_differ_by_less_than_their_runs_are_not_ranked():
    rows, trials = repeated(6, eager=1000, other=1001)
    for n, row in enumerate(trials):
        row["latency_ns"]["p50"] += 40 * (n * n % 5)

    said = verdict(rows, trials)

    assert "no difference from eager shown, 95 % interval 0.898 to 1.12 times" in said
    assert "times eager" not in said


def test_every_two_devices_are_a_figure_of_the_table():
    """Six pairs of runs can claim one figure, and not three."""
    two, three = (repeated(6, eager=1000, slow=9000), repeated(6, eager=1000, mid=3000, slow=9000))

    assert "too few" not in verdict(*two)
    assert verdict(*three).count("6 runs each are too few for a claim") == 1


def test_verdict_never_quotes_an_unsupported_percentile():
    row = variant("eager", 1000, unsupported_percentiles=["p99", "p99.9", "p99.99"])

    assert "p99" not in verdict([row], [trial("eager")])


def test_verdict_says_what_weakens_the_numbers():
    row = variant("eager", 1000, lost=7, unsent=2, void_share=0.03, instrument_limited=True)
    trials = [
        trial("eager", cores={"shared": True}, sums_reconcile=False),
        trial("other", status="failed"),
    ]

    said = verdict([row], trials)

    assert "7 of 1,000 packets lost, 2 could not be sent" in said
    assert "Do not trust these numbers: the sums of 1 trial do not come out; " in said
    assert "shared cores" in said
    assert "1 of 2 trials failed" in said


@pytest.mark.parametrize(
    ("void_share", "reached"),
    [
        (0.0, "Trust percentiles as far as p99.9: "),
        (0.000_99, "Trust percentiles as far as p99.9: "),
        (0.001, "Trust percentiles as far as p99: "),
        (0.03, "Trust percentiles as far as p90: "),
        (0.27, "Trust the medians alone: "),
        (0.5, "Do not trust even the medians: "),
    ],
)
def test_what_the_generator_was_late_with_bounds_what_is_trusted(void_share, reached):
    """All packets above a percentile may be those: then it says nothing about the device."""
    said = verdict([variant("eager", 1000, void_share=void_share)], [trial("eager")])

    assert reached in said
    its_own = "the medians" if void_share == 0.5 else "what is further out"
    assert (f"so {its_own} may be its own" in said) is (void_share > 0)


def test_a_percentile_of_too_few_packets_is_not_trusted():
    row = variant("eager", 1000, unsupported_percentiles=["p99.9", "p99.99"])

    said = verdict([row], [trial("eager")])

    assert "Trust percentiles as far as p99: " in said
    assert "further out fewer than 10 independent packets decide" in said


@pytest.mark.parametrize("without_void", [True, False])
def test_the_percentiles_that_are_not_trusted_are_those_of_the_packets_told(without_void):
    rows = [
        made_variant(
            **variant("eager", 1000, unsupported_percentiles=["p99.99"]),
            unsupported_percentiles_without_void=["p99.9", "p99.99"],
        )
    ]

    said = trust_sentence(rows, [made_result(**trial("eager"))], without_void=without_void)

    assert said.startswith(f"Trust percentiles as far as {'p99' if without_void else 'p99.9'}: ")
    assert "further out fewer than 10 independent packets decide" in said


def test_of_too_few_packets_for_a_median_nothing_is_further_out():
    row = variant("eager", 1000, unsupported_percentiles=list(PERCENTILES))

    said = verdict([row], [trial("eager")])

    assert "Do not trust even the medians: " in said
    assert "; fewer than 10 independent packets decide" in said


def test_captures_that_support_every_percentile_have_no_reason():
    row = variant("capture", 1000, driver="capture", unsupported_percentiles=[])

    said = verdict([row], [trial("capture", driver="capture", cores=None)])

    assert said.endswith(". Trust percentiles as far as p99.9999.")


def test_shared_cores_leave_the_medians():
    said = verdict([variant("eager", 1000)], [trial("eager", cores={"shared": True})])

    assert "Trust the medians alone: " in said


def test_of_many_devices_the_first_and_the_slowest_are_told():
    said = verdict(*repeated(6, a=1000, b=2000, c=3000, d=4000, e=5000, f=6000))

    assert "; 2 more in the table; f median 6 µs (" in said
    assert "d median" not in said


@pytest.mark.parametrize(
    ("matched", "when"), [(0, ""), (9, " after the warm-up"), (None, " after the warm-up")]
)
def test_a_device_that_worked_in_the_warm_up_alone_is_not_said_to_have_returned_nothing(
    matched, when
):
    row = variant("eager", 1000, latency_ns=NOTHING, warm_up={"matched": matched})

    said = verdict([row], [trial("eager")])

    assert said.startswith(f"At 100 kpkt/s, 64 B: eager returned no packet{when}. ")


def test_verdict_of_nothing():
    assert "all 2 trials failed" in verdict([], [trial("a"), trial("b")])
    assert "no trials" in verdict([], [])
