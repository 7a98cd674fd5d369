from taut.analysis.verdict import verdict


def variant(dut, p50, **changes):
    row = {
        "dut": dut,
        "is_floor": False,
        "link": "memif",
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


def trial(dut, **changes):
    row = {"name": f"t-{dut}", "status": "whole", "sums_reconcile": True, "cores": {}}
    return row | changes


def test_verdict_compares_devices_and_names_the_floor():
    rows = [
        variant("loopback", 500, is_floor=True),
        variant("buffered", 50_000),
        variant("eager", 1000),
    ]

    said = verdict(rows, [trial("eager"), trial("buffered")])

    assert said.startswith("At 100 kpkt/s, 64 B: eager median 1 µs (p99.9 3 µs, max 9 µs")
    assert "50 times eager" in said
    assert "floor is 500 ns over memif" in said
    assert said.count(".") - said.count("p99.") == 1  # one sentence


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

    assert "7 of 1000 lost, 2 could not be sent" in said
    assert said.startswith("Instrument-limited (eager: over 1 % of packets void): at 100 kpkt/s")
    assert "shared cores" in said
    assert "1 of 2 trials failed" in said
    assert "sums of 1 trials do not reconcile" in said


def test_verdict_of_nothing():
    assert "all 2 trials failed" in verdict([], [trial("a"), trial("b")])
    assert "no trials" in verdict([], [])
