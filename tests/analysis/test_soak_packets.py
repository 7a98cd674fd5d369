"""What a soak takes from the records of its packets, beside what the generator counted."""

from dataclasses import replace
from pathlib import Path

import pytest

from made_packets import COLD, DUPLICATE, LATE, ORPHAN, extra, packet, write_packets
from made_soak import SECOND_NS, row
from made_soak_run import make_soak_run
from taut.analysis.soak import soak_document
from taut.experiment.plan import make_plan
from taut.experiment.soak import plan_soak
from taut.experiment.spec import parse_spec
from taut.records.documents.soak import SoakDocument
from taut.records.rundir import RunDirectory

SPEC = """
name = "soak"
duration = "10s"
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["100kpps"]
"""
MS = 1_000_000
APART_NS = 30 * MS


def soaked(folder: Path, packets: list[dict[str, int | None]], max_ns: int) -> SoakDocument:
    """A soak of one segment with these packets; so long took the slowest of its one row."""
    run = RunDirectory(make_soak_run(folder, [row(max_ns=max_ns)]))
    [trial] = run.trials()
    write_packets(trial.packets, packets)
    soak = plan_soak(make_plan(parse_spec(SPEC)), 3_600 * SECOND_NS)
    document = soak_document(run, soak, None)
    assert document is not None
    return document


def packets_of(n: int) -> list[dict[str, int | None]]:
    return [packet(s, 1_000 + 10 * s, gap_ns=APART_NS) for s in range(n)]


AGAIN = [
    extra(3, DUPLICATE, 3 * APART_NS + 15 * MS) | {"sent_ns": 3 * APART_NS + 20},
    extra(4, LATE, 4 * APART_NS + 15 * MS),
    extra(900_000, ORPHAN, 5 * APART_NS + 15 * MS),
]


COLD_ONE = packet(0, 900_000, flags=COLD)


@pytest.mark.parametrize("more", [[], AGAIN, [COLD_ONE]], ids=["once", "and again", "and cold"])
def test_the_slowest_packet_of_a_row_is_found_among_its_own(
    tmp_path: Path, more: list[dict[str, int | None]]
) -> None:
    packets = packets_of(12)

    document = soaked(tmp_path / "run", [*packets, *more], max_ns=1_110)

    [found] = document.course.segments[0].rows
    assert found == replace(row(max_ns=1_110), max_at_ns=packets[11]["received_ns"])
