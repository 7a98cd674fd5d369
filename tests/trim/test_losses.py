"""What a trim says of states that lose packets: what is lost is slower than any that came back."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

import pytest

from drawn_bench import ALL, HOG, TIMER, MadeBench, decisions
from taut.host.state import HostState
from taut.records.documents.trim import PairedRatio
from taut.trim.bench import Figures, Repetition, losses_of
from taut.trim.decision import Decision, Verdict, decide
from taut.trim.document import sentence
from taut.trim.trim import Compared, Request, Trimmed, trim


class Losing(MadeBench):
    """Loses packets in some states, by name, as an overloaded device does."""

    lost: Mapping[str, float]

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        gone = {s.name: {"cell": self.lost.get(s.name, 0.0)} for s in states}
        return [
            replace(one, gone=gone, figures=self._figures(one.figures))
            for one in super().measure(states, repetitions)
        ]

    def _figures(self, figures: Mapping[str, Figures]) -> Mapping[str, Figures]:
        """Of p99.9: it is a lost packet where more are lost than lie above it."""
        lost = {"cell": inf}
        return {s: lost if self.lost.get(s, 0.0) > 0.001 else of for s, of in figures.items()}


def losing(lost: Mapping[str, float], factors: Mapping[tuple[str, ...], float]) -> Trimmed:
    bench = Losing(ALL, factors)
    bench.lost = lost
    found = Trimmed(candidates=list(ALL))
    return trim(bench, Request(), found, time.monotonic(), lambda _: None)


@pytest.mark.parametrize(("lost", "factor"), [({"trimmed": 0.05}, 0.1), ({"as found": 0.33}, 4.0)])
def test_a_state_that_loses_other_packets_neither_helps_nor_harms(
    lost: Mapping[str, float], factor: float
) -> None:
    found = losing(lost, {("R24-now",): factor})

    assert (found.verdict, found.kept) == (Verdict.NOT_SHOWN, [])
    share = {state: f"{100 * lost.get(state, 0.0):.3g} %" for state in ("as found", "trimmed")}
    said = (
        f"cell: lost or not sent {share['as found']} as found, {share['trimmed']} trimmed (medians)"
    )
    assert said in sentence(found, "p99.9")
    [note] = found.notes
    assert note == f"{said}: what is lost has no latency, so nothing is claimed of these two."


def test_one_trial_that_loses_a_quarter_in_a_stall_of_the_machine_is_no_state_that_loses() -> None:
    calm = {"as found": {"cell": 2.0}, "trimmed": {"cell": 1.0}}
    none = {state: {"cell": 0.0} for state in calm}
    once = Repetition(5, calm | {"trimmed": {"cell": inf}}, gone=none | {"trimmed": {"cell": 0.24}})
    others = [Repetition(n, calm, gone=none) for n in range(4)]

    assert losses_of([once, *others], "as found", "trimmed") is None
    assert losses_of([once], "as found", "trimmed") is not None


class LosingOften(MadeBench):
    """Loses the packets above the target in some repetitions, in one state."""

    lost_in: Sequence[int]
    state: str

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        [one] = super().measure(states, repetitions)
        figures = dict(one.figures)
        if one.number in self.lost_in:
            figures[self.state] = {"cell": inf}
        gone = {s: {"cell": 0.002 * (of["cell"] == inf)} for s, of in figures.items()}
        return [replace(one, figures=figures, gone=gone)]


def losing_often(lost_in: Sequence[int], state: str, factor: float) -> Trimmed:
    bench = LosingOften((HOG,), {("R24-now",): factor})
    bench.lost_in, bench.state = lost_in, state
    found = Trimmed(candidates=[HOG])
    return trim(bench, Request(), found, time.monotonic(), lambda _: None)


@pytest.mark.parametrize(
    ("state", "factor", "verdict", "said"),
    [
        ("as found", 0.5, Verdict.HELPS, "times shorter (98.4 % interval {} or more;"),
        ("trimmed", 2.0, Verdict.HARMS, "times longer (98.4 % interval {} or more;"),
    ],
)
def test_a_pair_with_a_lost_packet_has_a_direction_and_no_size(
    state: str, factor: float, verdict: Verdict, said: str
) -> None:
    found = losing_often([2], state, factor)

    assert found.whole is not None
    effect = found.whole.effect
    assert (found.verdict, found.whole.losses) == (verdict, None)
    assert effect is not None
    assert effect.ratio == pytest.approx(factor, rel=0.1)
    ends = {"as found": effect.low, "trimmed": effect.high}
    assert ends[state] is None
    other = effect.low or 1 / (effect.high or inf)
    assert said.format(f"{other:.2f}") in sentence(found, "p99.9")


@pytest.mark.parametrize(("state", "factor"), [("as found", 0.5), ("trimmed", 2.0)])
def test_an_estimate_that_rests_on_lost_packets_is_no_claim(state: str, factor: float) -> None:
    found = losing_often([2, 3, 4, 9, 12], state, factor)

    assert found.whole is not None
    effect = found.whole.effect
    assert effect is not None
    assert found.verdict is Verdict.NOT_SHOWN
    assert (effect.ratio, effect.low, effect.high) == (None, None, None)
    assert (effect.lost_in, effect.by_ranks) == ((state,), "less" if factor < 1 else "more")
    [n_found, n_trimmed] = (5 * (state == one) for one in ("as found", "trimmed"))
    said = f"cell: the figure is a lost packet in {n_found} of 16 runs as found, {n_trimmed} of 16"
    assert said in sentence(found, "p99.9")


def test_a_state_without_a_run_of_the_cell_that_loses_has_no_share() -> None:
    pairs = [
        Repetition(
            n,
            {"as found": {"a": inf, "b": 2.0}, "trimmed": {"b": 1.0}},
            gone={"as found": {"a": 0.2, "b": 0.0}, "trimmed": {"b": 0.0}},
        )
        for n in range(2, 9)
    ]

    [note] = Compared("as found", "trimmed", pairs, None).notes("x")

    said = "a: lost or not sent 20 % as found, no run trimmed (medians)"
    assert note == f"{said}: what is lost has no latency, so nothing is claimed of these two."


def test_cells_that_disagree_on_what_is_lost_make_no_pair() -> None:
    figures = {"as found": {"a": inf, "b": 1.0}, "trimmed": {"a": 1.0, "b": inf}}
    assert Repetition(2, figures).log_ratio("as found", "trimmed") is None

    both = {"as found": {"a": inf, "b": 1.0}, "trimmed": {"a": inf, "b": 1.0}}
    assert Repetition(2, both).log_ratio("as found", "trimmed") == 0

    worse = {"as found": {"a": inf, "b": 1.0}, "trimmed": {"a": 1.0, "b": 1.01}}
    assert Repetition(2, worse).log_ratio("as found", "trimmed") == -inf


def test_void_packets_that_are_lost_make_a_ratio_of_all_packets_no_size() -> None:
    class LosingVoid(MadeBench):
        def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
            [one] = super().measure(states, repetitions)
            void = {s.name: 0.004 * (s.name == "trimmed") for s in states}
            figures = {s: {"cell": inf} if void[s] else of for s, of in one.figures.items()}
            gone = {state: {"cell": share} for state, share in void.items()}
            return [replace(one, with_void=figures, gone_with_void=gone)]

    bench = LosingVoid((HOG,), {("R24-now",): 0.1})
    found = trim(bench, Request(), Trimmed(candidates=[HOG]), time.monotonic(), lambda _: None)

    assert found.verdict is Verdict.HELPS
    assert found.whole is not None
    assert found.whole.with_void is not None
    assert found.whole.losses is None
    said = "cell: lost or not sent 0 % as found, 0.4 % trimmed (medians)"
    assert found.whole.with_void.losses == said


def test_losses_of_less_than_the_tail_are_no_reason_to_claim_nothing() -> None:
    found = losing({"as found": 0.0001, "trimmed": 0.0009}, {("R24-now",): 0.1})

    assert found.verdict is Verdict.HELPS


def test_a_group_without_which_other_packets_are_lost_is_kept() -> None:
    found = losing({"without timer": 0.05}, {("R24-now",): 0.1, ("R07-now",): 2.0})

    assert decisions(found)["R07-now"] is Decision.KEPT_LOSSES
    [ratio] = [d.ratio for d in found.decided if d.candidate is TIMER]
    assert ratio is not None
    assert ratio == found.groups["timer"].effect
    assert ratio.losses == "cell: lost or not sent 0 % trimmed, 5 % without timer (medians)"
    assert any("0 % trimmed, 5 % without timer (medians)" in note for note in found.notes)


@pytest.mark.parametrize(
    ("lost_in", "by_ranks", "decision"),
    [
        (("without timer",), "more", Decision.KEPT_LOSSES),
        (("without timer",), None, Decision.KEPT_UNTOLD),
        (("trimmed",), "less", Decision.HARMED_LOSSES),
        (("trimmed",), None, Decision.KEPT_UNTOLD),
        (("trimmed", "without timer"), "less", Decision.KEPT_UNTOLD),
    ],
)
def test_of_losses_the_state_that_has_them_decides(
    lost_in: tuple[str, ...], by_ranks: str | None, decision: Decision
) -> None:
    losses = "cell: lost or not sent"
    ratio = PairedRatio(7, None, None, None, 0.98, 0.016, losses, lost_in, by_ranks)

    [decided] = decide([TIMER], Verdict.HELPS, {"timer": ratio})

    assert decided.decision is decision


def test_a_group_without_which_alone_nothing_is_lost_is_put_back() -> None:
    class LosingInParts(Losing):
        def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
            names = [state.name for state in states]
            is_parts = "without timer" in names
            self.lost = {n: 0.05 * (is_parts and n != "without timer") for n in names}
            return super().measure(states, repetitions)

    bench = LosingInParts(ALL, {("R24-now",): 0.1})
    found = trim(bench, Request(), Trimmed(candidates=list(ALL)), time.monotonic(), lambda _: None)

    assert decisions(found)["R07-now"] is Decision.HARMED_LOSSES
    assert decisions(found)["R24-now"] is Decision.KEPT_UNTOLD
    assert found.kept == ["R24-now", "R06-now"]


def test_what_is_left_and_loses_more_than_the_whole_is_not_kept_alone() -> None:
    found = losing({"as found": 0.0008, "kept": 0.0015}, {("R24-now",): 0.1})

    assert found.kept == ["R24-now", "R07-now", "R06-now"]
    assert any("was not shown to help by itself" in note for note in found.notes)
