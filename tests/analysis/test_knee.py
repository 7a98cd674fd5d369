from typing import Any

import pytest

from made_documents import made_variant
from taut.analysis.knee import find_knee, find_unsent
from taut.records.documents.json_form import plain_object


def row(pps, p50=1000, loss=0.0, achieved=1.0, **more: Any):
    return made_variant(
        offered_pps=pps,
        asked_pps=pps,
        achieved_pps=pps * achieved,
        loss_ratio=loss,
        latency_ns={"p50": p50},
        **more,
    )


@pytest.mark.parametrize(
    ("over", "why"),
    [
        (row(300, loss=0.002), "lost"),
        (row(300, achieved=0.99), "achieved"),
        (row(300, p50=10_001), "median"),
    ],
)
def test_knee_is_the_first_overloaded_rate_and_says_why(over, why):
    found = find_knee([row(400, loss=0.5), over, row(100), row(200)])

    assert found[0] is over
    assert why in found[1]


def test_no_knee_below_capacity():
    assert find_knee([row(100), row(200, loss=0.001, achieved=0.999, p50=10_000)]) is None
    assert find_knee([]) is None


def test_what_a_stall_of_the_generator_lost_or_kept_from_being_sent_in_time_is_no_knee():
    lost = row(300, loss=0.0025, sent=10_000, lost=25, lost_void=15)
    late = row(300, achieved=0.997, void_share=0.002)

    assert find_knee([row(100), lost, late]) is None
    assert find_unsent([row(100), lost, late], []) is late
    more = row(300, loss=0.0027, sent=10_000, lost=27, lost_void=15)
    assert find_knee([row(100), more]) == (more, "0.12 % lost")
    assert find_knee([row(100), row(300, achieved=0.996, void_share=0.002)]) is not None
    refused = row(300, achieved=0.995, void_share=0.006, due=10_000, unsent=50)
    assert find_knee([row(100), refused]) == (refused, "99.5 % of the rate achieved")


def test_what_the_generator_gave_up_is_no_knee():
    given_up = row(300, achieved=0.995, due=10_000, unsent=50, void=50, void_share=0.005)

    assert find_knee([row(100), given_up]) is None
    assert find_unsent([row(100), given_up], []) is given_up


def test_what_a_link_refuses_is_the_device_s_however_late_other_packets_are():
    late = {"due": 10_000, "void": 200, "void_share": 0.02, "instrument_limited": True}
    refused = row(300, achieved=0.8, unsent=2_000, **late)

    assert find_knee([row(100), refused]) == (refused, "80 % of the rate achieved")
    assert find_unsent([row(100), refused], []) is None
    back = {"latency_ns": {"n": 9_850}, "latency_without_void_ns": {"n": 9_650}}
    few = row(300, achieved=0.985, unsent=150, **late)
    assert find_unsent([row(100), few], []) is few  # these may be the void ones
    few = made_variant(**{**plain_object(few), **back})
    assert find_knee([row(100), few]) == (few, "98.5 % of the rate achieved")
    given_up = row(300, achieved=0.8, unsent=2_000, **{**late, "void": 2_000, "void_share": 0.2})
    assert find_knee([row(100), given_up]) is None
    assert find_unsent([row(100), given_up], []) is given_up


SLOW = row(300, achieved=0.995)


@pytest.mark.parametrize(
    ("over", "floors"),
    [
        (row(300, achieved=0.995, instrument_limited=True), []),
        (SLOW, [row(300, achieved=0.99)]),
    ],
    ids=["held up", "nor without a device"],
)
def test_a_rate_that_the_generator_did_not_send_is_no_knee(over, floors):
    rows = [row(100), over]

    assert find_knee(rows, floors) is None
    assert find_unsent(rows, floors) is over
    assert find_knee([*rows, row(400, loss=0.1)], floors)[0].offered_pps == 400


@pytest.mark.parametrize(
    "floors",
    [
        [],
        [row(300)],
        [row(300, achieved=0.9985)],
        [row(400, achieved=0.9)],
        [row(300, achieved=0.9, link="veth")],
    ],
    ids=["no floor", "it did", "a hair short", "at another rate", "over another link"],
)
def test_a_rate_that_the_generator_can_send_is_the_device_s_knee(floors):
    assert find_knee([row(100), SLOW], floors)[0] is SLOW
    assert find_unsent([row(100), SLOW], floors) is None
