"""Series of many runs, from made documents: what is followed, what is said, what is refused."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from made_documents import made_analysis, made_result, made_variant
from taut.analysis.pairing import AnalysedRun
from taut.analysis.trend import Trend, changing, trend_of
from taut.core.errors import InputError
from taut.records.rundir import RunDirectory

WANDER_NS = (0, 7, -5, 3, -8, 6, -2, 4, -6, 1, 5, -3)


def run(
    name: str,
    medians_ns: dict[str, int | None],
    floor_ns: int = 100,
    failed: Sequence[str] = (),
) -> AnalysedRun:
    """A run of these devices, one repetition each, and a floor; and devices that failed."""
    rows = {"floor": floor_ns, **medians_ns}
    trials, variants = [], []
    for dut, p50 in rows.items():
        latency = {"p50": p50} if p50 else {"n": 0}
        is_floor = dut == "floor"
        device = {"dut": dut, "driver": "loopback" if is_floor else "taut_forward"}
        trials.append(made_result(name=f"001-{dut}", **device, latency_ns=latency))
        variants.append(
            made_variant(**device, is_floor=is_floor, trials=[f"001-{dut}"], latency_ns=latency)
        )
    trials += [
        made_result(name=f"001-{dut}", dut=dut, path="", status="failed", sent=None)
        for dut in failed
    ]
    return RunDirectory(Path(name)), made_analysis(tuple(trials), tuple(variants))


def followed(levels_ns: list[int], floor_ns: int = 100) -> Trend:
    """Runs of one device with these medians, which wander a little."""
    runs = [
        run(f"r{at:02}", {"eager": level + WANDER_NS[at % 12]}, floor_ns)
        for at, level in enumerate(levels_ns)
    ]
    return trend_of(runs, [path.path.name for path, _ in runs])


def test_a_step_is_told_with_its_run_and_levels() -> None:
    trend = followed([1000] * 20 + [1200] * 6)

    [step] = trend.series[0].steps
    assert (step.at, step.run, step.is_confirmed) == (20, "r20", True)
    assert step.change == pytest.approx(0.2, abs=0.01)
    assert trend.verdict == (
        "eager at 100 kpkt/s, 64 B: median 1.00 µs → 1.20 µs (+20 %) since r20, confirmed."
    )
    assert [group.at for group in trend.series[0].jumpavg] == [0, 20]


def test_runs_without_a_step_say_so_and_how_much_they_differ() -> None:
    trend = followed([1000] * 12)

    assert trend.verdict == "No step shown in the median of 12 runs."
    assert trend.series[0].spread == pytest.approx(0.0067, abs=0.001)
    assert [series.label for series in trend.series] == ["eager", "floor"]


def test_four_runs_are_set_side_by_side_and_not_judged() -> None:
    trend = followed([1000, 1000, 2000, 2000])

    assert trend.verdict == "4 runs: steps are looked for in 5 and more."
    assert trend.series[0].spread is None
    assert len(trend.series[0].figures_ns["p50"]) == 4


def test_a_step_within_the_rounding_of_the_clock_is_none() -> None:
    runs = [run(f"r{at}", {"eager": 20 if at < 15 else 21}) for at in range(30)]

    assert trend_of(runs, [path.path.name for path, _ in runs]).series[0].steps == ()


def test_a_step_of_the_floor_is_a_warning_and_no_verdict() -> None:
    runs = [
        run(f"r{at}", {"eager": 1000 + WANDER_NS[at % 12]}, 100 if at < 10 else 150)
        for at in range(20)
    ]

    trend = trend_of(runs, [path.path.name for path, _ in runs])

    assert trend.verdict == "No step shown in the median of 20 runs."
    assert trend.warnings[0].startswith("the instrument itself changed: floor at 100 kpkt/s, 64 B")


def test_a_run_that_lacks_the_device_leaves_a_hole_and_moves_no_step() -> None:
    levels = [1000] * 20 + [1200] * 6
    runs = [
        run(f"r{at}", {"other": 500, **({} if at == 3 else {"eager": level + WANDER_NS[at % 12]})})
        for at, level in enumerate(levels)
    ]

    trend = trend_of(runs, [path.path.name for path, _ in runs])

    eager = next(series for series in trend.series if series.label == "eager")
    assert eager.figures_ns["p50"][3] is None
    assert [step.at for step in eager.steps] == [20]
    assert "eager at 100 kpkt/s, 64 B: no median in r3" in trend.warnings


def test_what_has_too_few_medians_is_told_as_not_searched() -> None:
    runs = [
        run(f"r{at}", {"eager": 1000 + WANDER_NS[at], **({"new": 500} if at > 4 else {})})
        for at in range(8)
    ]

    trend = trend_of(runs, [path.path.name for path, _ in runs])

    assert trend.verdict == (
        "No step shown in the median of 8 runs. Not searched: new at 100 kpkt/s, 64 B; steps are "
        "looked for in 5 medians above zero and more."
    )


def test_medians_that_are_not_above_zero_are_told_and_not_searched() -> None:
    runs = [run(f"r{at}", {"eager": -20 + at}) for at in range(6)]

    trend = trend_of(runs, [path.path.name for path, _ in runs])

    assert trend.verdict.startswith("Not searched: eager at 100 kpkt/s, 64 B")
    assert (
        "eager at 100 kpkt/s, 64 B: the median is not above zero in r0, r1, r2, r3, r4, r5"
        in trend.warnings
    )


def test_floors_of_several_links_are_told_apart() -> None:
    def both(name: str) -> AnalysedRun:
        rows = [
            made_variant(dut=f"loopback_{link}", is_floor=True, link=link, latency_ns={"p50": 100})
            for link in ("memif", "veth")
        ]
        rows.append(made_variant(dut="eager", is_floor=False, latency_ns={"p50": 900}))
        return RunDirectory(Path(name)), made_analysis((), tuple(rows))

    trend = trend_of([both("r0"), both("r1")], ["r0", "r1"])

    assert [series.label for series in trend.series] == ["eager", "floor (memif)", "floor (veth)"]


def test_other_experiments_are_refused() -> None:
    runs = [run("first", {"bridge": 900}), run("second", {"eager": 900})]

    with pytest.raises(InputError, match="first and second: different experiments"):
        trend_of(runs, ["first", "second"])


@pytest.mark.parametrize("at", [0, 1])
def test_the_floor_of_a_run_whose_device_failed_is_not_followed_in_its_place(at: int) -> None:
    runs = [run("first", {"eager": 900}), run("second", {"eager": 900})]
    runs[at] = run("bad", {}, failed=["eager"])

    with pytest.raises(InputError, match=r"^bad: no device was measured; see its report"):
        trend_of(runs, ["first", "second"])


def test_a_device_that_the_newest_run_did_not_measure_is_missed() -> None:
    first = run("first", {"eager": 900, "bridge": 9000})
    second = run("second", {"eager": 900, "buffered": None}, failed=["bridge"])

    trend = trend_of([first, second], ["first", "second"])

    missed = [f"{dut} at 100 kpkt/s, 64 B" for dut in ("buffered", "bridge")]
    assert trend.warnings == [f"{m}: not measured in second, so it is not followed" for m in missed]


def test_nothing_with_a_latency_is_refused() -> None:
    runs = [run("first", {"eager": 900}), run("second", {"eager": None})]
    bare = [(path, made_analysis()) for path, _ in runs]

    with pytest.raises(InputError, match="second: no packet with a latency"):
        trend_of(bare, ["first", "second"])


def test_what_changes_with_every_other_run_tells_no_run_from_another() -> None:
    assert changing({"notes": 4, "taut": 1, "kernel": 3}, n_runs=9) == ("notes",)
    assert changing({"taut": 1}, n_runs=2) == ()
