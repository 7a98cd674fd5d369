"""The longest burst: found within its step, whatever the device holds."""

from collections.abc import Callable

import pytest

from taut.experiment.bursts import longest_burst
from taut.records.documents.rfc import Burst


def device(holds: int, sent: list[int], limited: Callable[[int], bool] = lambda _: False):
    def send(length: int) -> Burst:
        sent.append(length)
        lost = max(0, length - holds)
        return Burst(length, (f"t{len(sent)}",), lost, limited(lost))

    return send


@pytest.mark.parametrize("holds", [1, 15, 16, 17, 100, 1000, 12_345])
@pytest.mark.parametrize("step", [0.01, 0.1])
def test_what_a_device_holds_is_found(holds, step):
    sent: list[int] = []

    found = longest_burst(100_000, step, device(holds, sent))

    assert found.length <= holds < found.length + max(1, step * holds / (1 - step)) + 1
    assert not found.is_at_limit
    assert len(sent) < 40
    assert [burst.length for burst in found.bursts] == sent


def test_a_device_that_holds_all_is_at_the_limit():
    found = longest_burst(1_000, 0.1, device(10**9, []))

    assert (found.length, found.is_at_limit) == (1_000, True)


def test_a_device_that_holds_nothing_ends_at_none():
    found = longest_burst(1_000, 0.1, device(0, []))

    assert (found.length, found.is_at_limit) == (0, False)


@pytest.mark.parametrize("limited", [lambda lost: lost > 0, lambda lost: not lost])
def test_an_end_that_rests_on_a_held_up_generator_is_said(limited):
    assert longest_burst(1_000, 0.1, device(100, [], limited)).instrument_limited
    assert not longest_burst(1_000, 0.1, device(100, [])).instrument_limited
