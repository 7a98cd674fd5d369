"""Memory and disk for the records of trials.

Memory is for what would otherwise be read or written while packets fly. On few cores whoever
empties a buffer during a trial takes the generator's core for it. Where the buffers hold a whole
trial nobody has to; a trial that is too long for the memory is streamed, and what it takes does not
grow with its length.
"""

from collections.abc import Iterable

from taut.dut.driver import DriverOptions
from taut.experiment.plan import Trial
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.records.layout import EVENT, PACKET, STAMP
from taut.testbed.links import LINKS

MIB = 1 << 20
SHARE = 16
"""Packet ring and trace buffers may each take 1 / SHARE of the free memory."""

RING_MIB = 64
"""The size of taut-generate's ring without an option."""
_RING_MOST_MIB = 512
_RECORD_BYTES = PACKET.itemsize  # in memory as on disk
_STAMP_BYTES = STAMP.itemsize

# Trials of 0.3 to 0.6 million packets, traced or not, left 5.7 to 15 bytes on disk for each packet.
_KEPT_BYTES = 12
# Trials of 7,000 to 118,000 stamped packets left 0.6 to 1.4 bytes for each stamp.
_KEPT_STAMP_BYTES = 2
_TRIAL_BYTES = 2_000_000
_TAIL_SHARE = 0.01

_BUFFER_MIN_MIB = 8
_BUFFER_MOST_MIB = 1024
_BUFFER_PARTS = 4  # dataplane/trace/collector.c, ALL_SHARE
# Ten times the events of a polling core; fewer than those of a core that forks all the time.
_EVENTS_PER_SECOND = 20_000
# Where the kernel handles each packet, of the core that has most: interrupt, softirq, NAPI, wake-up
# and switch. Bridge and router 7, a NAPI thread 10, Suricata 13 at 10 kpkt/s, fewer at more.
_EVENTS_PER_PACKET = 10
_EVENT_BYTES = 40  # in the kernel's buffer
_KEPT_EVENT_BYTES = 2
_ARMING_NS = 5_000_000_000  # arming the trace, opening ports, waiting for the last packets


def free_bytes(host: Host) -> int:
    """Give the memory that can be had without swapping; 0 when the kernel does not say."""
    words = host.fields("/proc/meminfo").get("MemAvailable", "").split()
    return int(words[0]) << 10 if words else 0


def disk_bytes(trials: Iterable[Trial]) -> tuple[int, int]:
    """Say about how much disk a run takes in the end, and how much more while it is written."""
    written = [(_recorded_packets(trial), _stamps(trial), _traced(trial)) for trial in trials]
    kept = (
        _TRIAL_BYTES + n * _KEPT_BYTES + m * _KEPT_STAMP_BYTES + k * _KEPT_EVENT_BYTES
        for n, m, k in written
    )
    meanwhile = (n * _RECORD_BYTES + m * _STAMP_BYTES + k * EVENT.itemsize for n, m, k in written)
    return sum(kept), max(meanwhile, default=0)


def _recorded_packets(trial: Trial) -> int:
    if trial.bounded is not None and trial.record == "tail":
        return min(trial.bounded.most, round(sent_packets(trial)))
    return round(sent_packets(trial) * recorded_share(trial.record))


def recorded_share(record: str) -> float:
    """Give the share of packets that is recorded, about."""
    return {"none": 0.0, "tail": _TAIL_SHARE}.get(record, 1.0)


def _traced(trial: Trial) -> int:
    return _events(trial) if trial.trace == "continuous" else 0


def options_of(trial: Trial) -> DriverOptions:
    """Give the options of a trial's device with its choice of how many packets are stamped.

    Where records are bounded, so are the logs of its gaps.
    """
    n_packets = round(sent_packets(trial)) if trial.record == "all" else 0
    options = trial.device.driver_options.stamping(n_packets)
    return options if trial.bounded is None else options.logging(trial.bounded.gaps)


def _stamps(trial: Trial) -> int:
    return round(sent_packets(trial) * options_of(trial).stamps_per_packet)


def sent_packets(trial: Trial) -> float:
    """Count what a trial sends, its warm-up too, in both directions."""
    seconds = (trial.warm_up_ns + trial.duration_ns) / 1e9
    return trial.offered_pps * trial.traffic.n_ways * seconds


def ring_mib(trial: Trial, free: int) -> int:
    """Give the size of the ring of packet records, in MiB.

    A ring is not written before it is half full: one that holds all records twice is written when
    the trial is over. Where that is too much memory, or a trace follows the records as they are
    written, it is of the usual size and written during the trial.
    """
    if trial.trace == "tail" or trial.record != "all":
        return RING_MIB
    # It is rounded down to a power of two of records.
    n_slots = 1 << max(0, int(2 * sent_packets(trial))).bit_length()
    mib = -(-n_slots * _RECORD_BYTES // MIB)
    fits = mib <= min(_RING_MOST_MIB, free // SHARE // MIB)
    return max(mib, RING_MIB) if fits else RING_MIB


def buffer_mib(trial: Trial, n_cores: int, n_online: int, free: int) -> int:
    """Give the size of the kernel's trace buffer of each of `n_cores`, in MiB.

    Each of `n_online` has a part of that besides, for what it does to these cores. A buffer is not
    read before it is half full. A trace that follows packets reads as these are written, whatever
    its buffers hold: it has the smallest ones.
    """
    if trial.trace == "tail":
        return _BUFFER_MIN_MIB
    wanted = 2 * _events(trial) * _EVENT_BYTES // MIB + 1
    n_parts = max(1, n_cores * _BUFFER_PARTS + n_online)
    most = min(_BUFFER_MOST_MIB, free // SHARE * _BUFFER_PARTS // n_parts // MIB)
    return max(_BUFFER_MIN_MIB, min(wanted, most))


def _events(trial: Trial) -> int:
    """Count the events of a core that a trace of the trial may have, about."""
    seconds = (trial.warm_up_ns + trial.duration_ns + _ARMING_NS) / 1e9
    device = trial.device
    sleeps = device.dut.waits(device.driver_options) is Waiting.SLEEPS
    is_of_kernel = sleeps or LINKS[device.link].crosses_kernel
    of_packets = sent_packets(trial) * _EVENTS_PER_PACKET if is_of_kernel else 0
    return int(seconds * _EVENTS_PER_SECOND + of_packets)
