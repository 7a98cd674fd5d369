"""A generator that is stopped: its own log has the gap, and what it touched is void."""

import signal
from pathlib import Path

import numpy as np
import pytest

from generator_run import LOOP, assert_records_agree, read, start, wait_until_sending
from stops import stop_for
from taut.records.layout import PacketFlag
from waiting import wait_until_ran

pytestmark = [pytest.mark.smoke, pytest.mark.timing]


def stop_for_5_ms(out: Path):
    process = start(out, *LOOP, "--warm-up", "0s", "--duration", "60s", "--rate", "50kpps")
    wait_until_sending(process, out)
    # It waits until the process stands: where its core is busy, SIGCONT would overtake SIGSTOP.
    stop_for(process.pid, 5_000_000)
    wait_until_ran(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    return read(out)


def test_a_stopped_generator_makes_a_gap_whose_packets_are_void(tmp_path: Path):
    result = stop_for_5_ms(tmp_path)

    assert_records_agree(result)
    packets = result.packets[result.packets["received_tsc"] > 0]
    is_void = (packets["flags"] & PacketFlag.VOID) > 0
    ns = 1e9 / result.summary["clock"]["nominal_tsc_hz"]
    first_due_tsc = packets["due_tsc"].min()
    intent_ns = (packets["received_tsc"] - packets["due_tsc"]) * ns
    service_ns = (packets["received_tsc"] - packets["sent_tsc"]) * ns
    most_due_in_a_gap = 0
    for gap in result.gaps:
        window_start_tsc = packets["received_tsc"] - packets["arrival_window"]
        arrived_in_gap = (window_start_tsc < gap["end_tsc"]) & (
            packets["received_tsc"] > gap["start_tsc"]
        )
        due_in_gap = (packets["due_tsc"] > gap["start_tsc"]) & (packets["due_tsc"] < gap["end_tsc"])
        assert is_void[arrived_in_gap | due_in_gap].all()
        if due_in_gap.sum() > most_due_in_a_gap:
            most_due_in_a_gap = due_in_gap.sum()
            # The first of them was due within one interval, 20 us, of its start. (The machine may
            # add a longer gap to ours, one that began before the first packet was due.)
            gap_ns = (gap["end_tsc"] - max(gap["start_tsc"], first_due_tsc)) * ns
            assert intent_ns[due_in_gap].max() > gap_ns - 25_000
    assert most_due_in_a_gap >= 240  # 5 ms at 50 kpkt/s, and a busy machine may add to it
    # What is not void knows nothing of the gap, nor of the backlog it left.
    assert intent_ns[~is_void].max() < 100_000
    assert service_ns[~is_void].max() < 100_000


def test_a_late_sender_never_catches_up_in_a_burst(tmp_path: Path):
    result = stop_for_5_ms(tmp_path)

    sent, together = np.unique(result.packets["sent_tsc"], return_counts=True)
    # Half a gap is 10 us, a quantum 1 us: no two packets may leave in one call.
    assert together.max() == 1
    # Nor may more leave within any 100 us than half gaps of 10 us put there.
    window = result.summary["clock"]["nominal_tsc_hz"] // 10_000
    in_window = np.searchsorted(sent, sent + window) - np.arange(len(sent))
    assert in_window.max() <= 12
