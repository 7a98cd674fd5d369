"""How much memory keeps a trial from being read and written while its packets fly."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taut.dut.stamping import MOST_STAMPED
from taut.experiment.plan import Bounded, Trial, make_plan
from taut.experiment.room import (
    MIB,
    RING_MIB,
    buffer_mib,
    disk_bytes,
    free_bytes,
    options_of,
    ring_mib,
)
from taut.experiment.spec import parse_spec
from taut.host.host import Host

GIB = 1 << 30
RECORD_BYTES = 48
STAMP_BYTES = 32
EVENT_BYTES = 32


MEMIF_FLOOR = 'driver = "loopback"\nlink = "memif"'


def trial_of(
    rate: str = "100kpps",
    duration: str = "10s",
    trace: str = "continuous",
    device: str = MEMIF_FLOOR,
) -> Trial:
    text = (
        f'name = "r"\nduration = "{duration}"\nwarm_up = "1s"\ntrace = "{trace}"\nfloor = false\n'
    )
    text += f'[[device]]\n{device}\n[[traffic]]\nrates = ["{rate}"]\n'
    return make_plan(parse_spec(text)).trials[0]


def test_the_ring_holds_twice_the_records_of_a_trial_that_fits():
    mib = ring_mib(trial_of(), 32 * GIB)

    # Rounded down to a power of two of records it still does.
    n_slots = 1 << (mib * MIB // RECORD_BYTES).bit_length() - 1
    assert n_slots >= 2 * 100_000 * 11


def test_a_short_trial_keeps_the_usual_ring():
    assert ring_mib(trial_of(rate="1kpps"), 32 * GIB) == RING_MIB


@pytest.mark.parametrize(
    ("trial", "free"),
    [
        (trial_of(duration="1h"), 64 * GIB),
        (trial_of(), GIB),
        (trial_of(), 0),
        (trial_of(trace="tail"), 64 * GIB),
        (trial_of(rate="2Mpps"), 64 * GIB),
    ],
    ids=["long", "little memory", "memory unknown", "followed", "not all recorded"],
)
def test_what_does_not_fit_or_is_followed_is_streamed_through_the_usual_ring(
    trial: Trial, free: int
):
    assert ring_mib(trial, free) == RING_MIB


def test_the_buffer_grows_with_the_trial_up_to_a_bound():
    sizes = [buffer_mib(trial_of(duration=f"{s}s"), 2, 2, 64 * GIB) for s in (1, 10, 60, 86_000)]

    assert sizes == sorted(sizes)
    assert sizes[-1] == buffer_mib(trial_of(duration="1h"), 2, 2, 64 * GIB) == 1024


@pytest.mark.parametrize(
    "device",
    [
        'driver = "linux_bridge"',
        'driver = "taut_forward"\nlink = "veth"',
        'driver = "taut_forward"\nlink = "virtio"\noptions = { wait = "interrupt" }',
    ],
    ids=["kernel device", "kernel port", "woken"],
)
def test_where_the_kernel_handles_each_packet_the_buffer_holds_its_events(device: str):
    polled = buffer_mib(trial_of(), 2, 2, 64 * GIB)

    woken = buffer_mib(trial_of(device=device), 2, 2, 64 * GIB)

    # As many as a NAPI thread has, of 33 bytes each, before the buffer is half full.
    assert (woken - polled) * MIB >= 2 * 11 * 100_000 * 9.3 * 33


def test_the_buffers_of_all_cores_stay_below_a_share_of_the_free_memory():
    assert 2 * buffer_mib(trial_of(duration="1h"), 2, 2, GIB) * MIB <= GIB // 16
    assert buffer_mib(trial_of(duration="1h"), 2, 2, 0) == 8


@pytest.mark.parametrize("n_online", [2, 16, 128])
def test_so_they_do_with_what_every_other_core_has_for_what_it_sends(n_online: int):
    each = buffer_mib(trial_of(duration="5m"), 2, n_online, 64 * GIB) * MIB

    assert 2 * each + n_online * each // 4 <= 64 * GIB // 16


def test_a_trace_that_is_read_anyway_has_the_smallest_buffers():
    assert buffer_mib(trial_of(trace="tail", duration="1h"), 2, 2, 64 * GIB) == 8


def test_free_memory_is_what_the_kernel_calls_available(tmp_path: Path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 100 kB\nMemFree: 3 kB\nMemAvailable: 7 kB\n")

    assert free_bytes(Host(tmp_path)) == 7 << 10
    assert free_bytes(Host(tmp_path / "none")) == 0


@pytest.mark.parametrize(
    ("device", "stamps_per_packet"),
    [
        ('driver = "taut_forward"', 0),
        ('driver = "taut_forward"\noptions = { stamp_every = 4 }', 2 / 4),
        ('driver = "chain"\noptions = { hops = [{}, {}, {}], stamp_every = 10 }', 3 * 2 / 10),
    ],
    ids=["none", "one in four", "at each of three hops"],
)
def test_stamps_take_disk_too(device: str, stamps_per_packet: float):
    text = 'name = "r"\nduration = "10s"\nwarm_up = "1s"\nfloor = false\n'
    text += f'[[device]]\n{device}\nlink = "memif"\n[[traffic]]\nrates = ["100kpps"]\n'
    [trial] = make_plan(parse_spec(text)).trials
    n_packets = 11 * 100_000

    kept, meanwhile = disk_bytes([trial])

    unstamped = disk_bytes([trial_of()])
    n_stamps = n_packets * stamps_per_packet
    assert meanwhile - unstamped[1] == pytest.approx(n_stamps * STAMP_BYTES)
    assert kept - unstamped[0] == pytest.approx(2 * n_stamps)


def test_a_budget_of_its_own_choice_takes_little_disk():
    text = 'name = "r"\nduration = "1h"\nfloor = false\n[[device]]\ndriver = "chain"\n'
    text += 'link = "memif"\n[[traffic]]\nrates = ["100kpps"]\n'
    [trial] = make_plan(parse_spec(text)).trials

    meanwhile = disk_bytes([trial])[1] - disk_bytes([trial_of(duration="1h", trace="off")])[1]

    assert 0.9 < meanwhile / (2 * 2 * MOST_STAMPED * STAMP_BYTES) <= 1.0


def test_disk_grows_with_what_is_recorded_and_meanwhile_with_the_longest_trial():
    short, long = trial_of(trace="off"), trial_of(duration="100s", trace="off")

    kept, meanwhile = disk_bytes([short, long])

    assert kept == sum(disk_bytes([trial])[0] for trial in (short, long))
    assert meanwhile == disk_bytes([long])[1] == 101 * 100_000 * RECORD_BYTES
    assert disk_bytes([trial_of(rate="2Mpps", trace="off")])[1] == 0


def test_a_trace_of_what_the_kernel_handles_takes_disk_too():
    device = 'driver = "linux_bridge"'
    untraced = disk_bytes([trial_of(device=device, trace="off")])

    kept, meanwhile = disk_bytes([trial_of(device=device)])

    n_events = 11 * 100_000 * 9.3
    assert kept - untraced[0] >= 2 * n_events
    assert meanwhile - untraced[1] >= EVENT_BYTES * n_events
    followed = disk_bytes([trial_of(device=device, trace="tail")])
    assert followed == untraced


def test_every_process_of_the_device_logs_as_many_gaps_as_its_trial_may_have():
    def most(device: str, bounded: Bounded | None) -> list[int]:
        options: Any = options_of(replace(trial_of(device=device), bounded=bounded))
        return [one.gaps_most for one in getattr(options, "hops", (options,))]

    bounded = Bounded(one_in=100, most=10, gaps=20)
    assert most('driver = "taut_forward"', bounded) == [20]
    assert most('driver = "chain"', bounded) == [20, 20]
    assert most('driver = "chain"', None) == [0, 0]
