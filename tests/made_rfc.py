"""A recipe's document as `taut rfc` leaves it: two frame sizes of one device."""

from dataclasses import replace
from typing import Any

from made_documents import made_search
from taut.experiment.recipes import RfcSpec, recipe_of, shortened
from taut.experiment.rfc import goal_of
from taut.records.documents.rfc import (
    Burst,
    BurstsFound,
    LatencyFound,
    LatencyTrial,
    LongestBurst,
    LossAt,
    RecoveryFound,
    RecoveryTrial,
    ResetFound,
    ResetTrial,
    Rfc,
    RfcDocument,
    RfcOfDevice,
)
from taut.records.documents.search import Bound, GoalFound

S = 1_000_000_000

THROUGHPUT_PPS, MOST_PPS = 400_000.0, 500_000.0


def made_latency(name: str, tag_ns: int, **changes: Any) -> LatencyTrial:
    """A trial whose figures all follow from its tag."""
    made = LatencyTrial(
        trial=name,
        instrument_limited=False,
        n_tags=1,
        tags_mean_ns=float(tag_ns),
        tags_p50_ns=tag_ns,
        tags_p99_9_ns=3 * tag_ns,
        min_ns=tag_ns // 2,
        p50_ns=tag_ns + 1_000,
        p99_ns=2 * tag_ns,
        p99_9_ns=4 * tag_ns,
        max_ns=8 * tag_ns,
        pdv_p99_9_ns=4 * tag_ns - tag_ns // 2,
        ipdv_min_ns=-tag_ns,
        ipdv_p50_ns=0,
        ipdv_max_ns=tag_ns,
        received=999_900,
        lost=100,
        void=5_000,
        reordered=0,
    )
    return replace(made, **changes)


def made_row(**changes: Any) -> RfcOfDevice:
    """Everything that tests of the three RFCs find, of 64-byte frames."""
    lower, upper = Bound(THROUGHPUT_PPS, 60 * S, 0), Bound(404_000.0, 0, 60 * S)
    made: dict[str, Any] = {
        "device": "bridge",
        "driver": "linux_bridge",
        "link": "veth",
        "frame": "64",
        "max_pps": MOST_PPS,
        "is_max_the_instruments": True,
        "throughput": made_search(
            device="bridge",
            found=(GoalFound("throughput", lower, upper, THROUGHPUT_PPS, None),),
        ),
        "latency": LatencyFound(
            THROUGHPUT_PPS,
            (
                made_latency("001-a", 10_000),
                made_latency("002-a", 900_000, instrument_limited=True),
                made_latency(
                    "003-a", 30_000, reordered=4, longest_extent=7, n_reordered=(4, 3, 2, 1)
                ),
            ),
        ),
        "loss": tuple(
            LossAt(share, share * MOST_PPS, (f"{n}",), 1000, 1000, lost, lost / 1000, limited)
            for n, (share, lost, limited) in enumerate(
                [(1.0, 200, False), (0.9, 50, True), (0.8, 0, False), (0.7, 0, False)]
            )
        ),
        "recovery": RecoveryFound(
            440_000.0,
            220_000.0,
            (
                RecoveryTrial("r1", False, 4_000_000, 500, 20, 3),
                RecoveryTrial("r2", False, 8_000_000, 600, 30, 4),
                RecoveryTrial("r3", True, 900_000_000, 9_999, 9_999),
            ),
        ),
        "reset": ResetFound(
            THROUGHPUT_PPS,
            (
                ResetTrial("x1", False, 300_000_000, 240_000, 300_000_000),
                ResetTrial("x2", False, 500_000_000, 400_000, 500_000_000),
            ),
        ),
        "bursts": BurstsFound(
            MOST_PPS,
            tuple(
                LongestBurst(length, False, limited, (Burst(length, ("b",), 0, False),))
                for length, limited in [(900, False), (1_100, False), (50_000, True)]
            ),
        ),
    }
    return RfcOfDevice(**{**made, **changes})


def made_rfc(rfc: Rfc = "2544", *rows: RfcOfDevice, quick: bool = True) -> RfcDocument:
    """The document; its rows are those given, or a whole one and one that has nothing."""
    recipe = recipe_of(rfc, RfcSpec(quick=quick))
    nothing = (GoalFound("throughput", None, None, None, "lowest load fails"),)
    empty = made_row(
        frame="1518",
        throughput=made_search(device="bridge", found=nothing, max_pps=MOST_PPS),
        latency=None,
        loss=None,
        recovery=None,
        reset=None,
        bursts=None,
        not_run=("latency: there is no throughput to start from",),
    )
    return RfcDocument(
        rfc=rfc,
        recipe=recipe,
        shortened=tuple(shortened(recipe)),
        goal=goal_of(recipe),
        instruments=(made_search(is_instrument=True),),
        results=rows or (made_row(), empty),
        method="MLRsearch 1.2.1 (RFC 9971)",
        took_s=12.0,
    )
