import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from taut.core.errors import InputError
from taut.host.effect import (
    FIGURES,
    check_repetitions,
    compare,
    hodges_lehmann,
    measure_effect,
)
from taut.host.noise import CoreNoise, Noise


def noise(gaps: int, worst_us: float = 100, cores: int = 1, *, was_interrupted: bool = False):
    row = CoreNoise(
        core=1,
        samples=1000,
        duration_ns=2_000_000_000,
        period_ns={},
        over={1_000: gaps, 10_000: 7, 100_000: 1, 1_000_000: 0},
        n_gaps=gaps,
        stolen_ns=20_000_000,
        not_logged=0,
        worst_ns=round(worst_us * 1e3),
        worst_at_ns=0,
    )
    return Noise((row,) * cores, 1000, 0, was_interrupted, {})


class Machine:
    """Notes the order of things; what is on takes `effect` gaps away."""

    def __init__(self, effect: int) -> None:
        self.effect, self.is_on = effect, False
        self.log: list[str] = []
        self._chance = random.Random(3)

    @contextmanager
    def turned_on(self) -> Iterator[None]:
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False
            self.log.append("taken back")

    def measure(self, is_on: bool) -> Noise:
        assert is_on == self.is_on
        self.log.append("on" if is_on else "off")
        return noise(1000 + self._chance.randrange(100) - is_on * self.effect)


def by_name(effect):
    return {row.figure.name: row for row in effect.figures}


def test_the_estimate_is_the_median_of_the_means_of_pairs():
    # Walsh averages of 1, 2, 9: 1, 1.5, 2, 5, 5.5, 9.
    assert hodges_lehmann([1, 2, 9], 0.5).estimate == 3.5


def test_the_interval_is_that_of_the_exact_signed_rank_test():
    # n = 10: 8 is the greatest W with 2 P(W <= 8) <= 5 % (tables of Wilcoxon's test, e.g.
    # Hollander and Wolfe, A.4): the 9th of 55 means from either end.
    differences = [1, -2, 4, 8, -16, 32, 64, 128, 256, 512]
    means = sorted((a + b) / 2 for i, a in enumerate(differences) for b in differences[i:])

    interval = hodges_lehmann(differences, 0.95)

    assert (interval.low, interval.high) == (means[8], means[46])


def test_an_interval_of_nothing_holds_zero_as_often_as_it_says():
    chance = random.Random(1)
    n = 1000
    wrong = sum(
        not hodges_lehmann([chance.gauss(0, 1) ** 3 for _ in range(10)], 0.95).holds_zero
        for _ in range(n)
    )

    assert 0.025 * n < wrong < 0.075 * n


def test_too_few_differences_give_no_interval():
    with pytest.raises(ValueError, match="too few"):
        hodges_lehmann([1, 2, 3, 4, 5], 0.95)


@pytest.mark.parametrize("repetitions", [-1, 0, 1, 7])
def test_too_few_repetitions_are_refused_before_anything_is_measured(repetitions: int):
    machine = Machine(0)

    with pytest.raises(InputError, match="8 or more"):
        measure_effect(machine.measure, machine.turned_on, repetitions, 1)

    assert machine.log == []
    check_repetitions(8)


def test_a_large_effect_is_shown_with_its_size():
    machine = Machine(500)

    row = by_name(measure_effect(machine.measure, machine.turned_on, 10, 1))["gaps > 1 us"]

    assert row.verdict == "less"
    assert row.difference.low < -250 < row.difference.high  # per second, of two
    assert row.difference.estimate == pytest.approx(-250, abs=30)


def test_more_gaps_are_called_more():
    machine = Machine(-500)

    row = by_name(measure_effect(machine.measure, machine.turned_on, 10, 1))["gaps > 1 us"]

    assert row.verdict == "more"


def test_what_does_nothing_shows_no_effect_in_any_figure():
    machine = Machine(0)

    effect = measure_effect(machine.measure, machine.turned_on, 10, 1)

    assert {row.verdict for row in effect.figures} == {"no effect shown"}
    assert len(effect.figures) == len(FIGURES)


def test_off_and_on_alternate_in_pairs_and_every_on_is_taken_back():
    machine = Machine(0)

    effect = measure_effect(machine.measure, machine.turned_on, 12, 5)

    arms = [word for word in machine.log if word != "taken back"]
    pairs = list(zip(arms[::2], arms[1::2], strict=True))
    assert all(set(pair) == {"off", "on"} for pair in pairs)
    assert len(set(pairs)) == 2  # both orders
    assert [pair[0] == "on" for pair in pairs] == [order[0] for order in effect.orders]
    assert machine.log.count("taken back") == 12
    for at, word in enumerate(machine.log):
        assert word != "on" or machine.log[at + 1] == "taken back"


def test_a_seed_gives_an_order():
    orders = [
        measure_effect((m := Machine(0)).measure, m.turned_on, 10, seed).orders
        for seed in (1, 1, 2)
    ]

    assert orders[0] == orders[1] != orders[2]


def test_an_interrupted_measurement_ends_all_and_the_knob_is_taken_back():
    machine = Machine(0)

    def interrupted(is_on: bool) -> Noise:
        found = machine.measure(is_on)
        return noise(1, was_interrupted=True) if is_on else found

    with pytest.raises(KeyboardInterrupt):
        measure_effect(interrupted, machine.turned_on, 10, 1)

    assert not machine.is_on
    assert machine.log[-2:] == ["on", "taken back"]


def test_rates_are_per_second_and_core_and_the_worst_is_of_all_cores():
    rows = compare([noise(200, 300, cores=3)] * 8, [noise(100, 50, cores=3)] * 8)
    found = {row.figure.name: row.medians for row in rows}

    assert found["gaps > 1 us"] == (100, 50)
    assert found["gaps > 100 us"] == (0.5, 0.5)
    assert found["time stolen"] == (1, 1)
    assert found["worst gap"] == (300, 50)
