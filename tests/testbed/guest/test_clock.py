"""A guest's times on the host's clock: known clocks, known delays, and what is made of them."""

from pathlib import Path

import numpy as np
import pytest

from taut.core.errors import TrialError
from taut.records.clock import fit_of
from taut.records.layout import FILE_HEADER, GAP, MAGIC, VERSION, RecordKind
from taut.records.raw_file import open_raw
from taut.testbed.guest.channel import Exchange
from taut.testbed.guest.clock import GuestClock, HostLine, compared, rebase

HOST = HostLine(tsc=1_000_000_000, mono_raw_ns=5_000_000_000, ticks_per_ns=2.5)
OFFSET = 777_000_000
"""The guest's counter began so many ticks later than the host's; it counts as fast."""


def guest_tsc(mono_raw_ns: int) -> int:
    return HOST.tsc_at(mono_raw_ns) - OFFSET


def exchanges(start_ns: int, seed: int, n: int = 200) -> list[Exchange]:
    """Questions that take 50 to 400 µs there, and as long back: the answer is anywhere between."""
    delays = np.random.default_rng(seed).integers(50_000, 400_000, (n, 2))
    found, now = [], start_ns
    for there, back in delays.tolist():
        found.append(Exchange(now, now + there + back, guest_tsc(now + there)))
        now += there + back + 1_000
    return found


def clock() -> GuestClock:
    before, after = exchanges(6_000_000_000, 1), exchanges(66_000_000_000, 2)
    return compared(before, after, HOST)


def test_the_error_that_is_stated_holds_and_is_less_than_a_round_trip() -> None:
    found = clock()

    for at_ns in (6_000_000_000, 30_000_000_000, 66_000_000_000):
        there = found.to_host(np.array([guest_tsc(at_ns)], np.uint64))
        assert abs(int(there[0]) - HOST.tsc_at(at_ns)) <= found.error_ticks
    shortest_ns = min(one.received_ns - one.sent_ns for one in exchanges(6_000_000_000, 1))
    assert 0 < found.error_ticks < 2.5 * shortest_ns


def test_a_clock_that_jumps_amid_the_questions_is_refused() -> None:
    jumped = [
        one._replace(guest_tsc=one.guest_tsc + (5_000_000 if number > 100 else 0))
        for number, one in enumerate(exchanges(6_000_000_000, 3))
    ]

    with pytest.raises(TrialError, match="its clock jumped"):
        compared(jumped, exchanges(66_000_000_000, 2), HOST)


def test_a_log_of_the_guest_tells_the_hosts_time(tmp_path: Path) -> None:
    found = clock()
    at_ns = 40_000_000_000
    header = np.zeros(1, FILE_HEADER)
    header["magic"], header["version"], header["kind"] = MAGIC, VERSION, RecordKind.GAP
    header["record_size"], header["n_records"] = GAP.itemsize, 1
    for name, point_ns in (("first", 7_000_000_000), ("last", 60_000_000_000)):
        header[name]["tsc"], header[name]["mono_raw_ns"] = guest_tsc(point_ns), point_ns // 3
    gap = np.array([(guest_tsc(at_ns), guest_tsc(at_ns + 20_000_000), 1, 0)], GAP)
    log = tmp_path / "gaps.bin"
    with log.open("wb") as file:
        header.tofile(file)
        gap.tofile(file)

    rebase(log, RecordKind.GAP, found, HOST)

    raw = open_raw(log, RecordKind.GAP)
    (records,) = raw.chunks()
    assert abs(int(records["start_tsc"][0]) - HOST.tsc_at(at_ns)) <= found.error_ticks
    lasted = int(records["end_tsc"][0]) - int(records["start_tsc"][0])
    assert lasted == pytest.approx(20_000_000 * 2.5, rel=1e-4)
    assert 1 / fit_of(raw.header).ns_per_tick == pytest.approx(2.5, rel=1e-4)
