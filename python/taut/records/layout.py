"""The binary records of dataplane/record/record_format.h as numpy types.

tests/seam compares every size and offset with what the C compiler made of the header.
"""

from enum import IntEnum, IntFlag

import numpy as np

MAGIC = b"TAUTREC\0"
VERSION = 4


class RecordKind(IntEnum):
    """What a record file holds."""

    PACKET = 1
    GAP = 2
    EVENT = 3
    HISTOGRAM = 4
    FRAME = 5
    INJECTION = 6
    TIME_COUNT = 7
    PACKET_BLOCK = 8
    STAMP = 9


class PacketFlag(IntFlag):
    """Flags of one packet record; the header says what each means."""

    VOID = 1 << 0
    UNSENT = 1 << 1
    LATE = 1 << 2
    DUPLICATE = 1 << 3
    OUT_OF_SEQUENCE = 1 << 4
    HW_STAMPED = 1 << 5
    COLD = 1 << 6
    ORPHAN = 1 << 7
    AMBIGUOUS = 1 << 8
    TRUNCATED = 1 << 9


EXTRA_RECORD = (
    PacketFlag.LATE
    | PacketFlag.DUPLICATE
    | PacketFlag.ORPHAN
    | PacketFlag.AMBIGUOUS
    | PacketFlag.TRUNCATED
)
"""A record with any of these is not a packet sent: it is a packet's second receipt, or a frame of a
capture that could not be matched to one."""


class FrameFlag(IntFlag):
    """Flags of one frame record."""

    TRUNCATED = 1 << 0


class GapThread(IntEnum):
    """Which thread had the gap."""

    GENERATOR = 0
    FORWARDER = 1
    NOISE = 2


class StampEvent(IntEnum):
    """What a packet did at a forwarder when it was stamped."""

    RECEIVED = 0
    SENT = 1


class HistogramSeries(IntEnum):
    """What a histogram counts; the header says what each is."""

    SERVICE = 0
    INTENT = 1
    JITTER = 2
    DEPARTURE_ERROR = 3
    INTER_DEPARTURE = 4
    ARRIVAL_WINDOW = 5
    IPDV = 6
    INTER_ARRIVAL = 7
    POLL_PERIOD = 8


class EventKind(IntEnum):
    """What happened; the header says what the arguments of each are."""

    IRQ_ENTRY = 1
    IRQ_EXIT = 2
    VECTOR_ENTRY = 3
    VECTOR_EXIT = 4
    SOFTIRQ_ENTRY = 5
    SOFTIRQ_EXIT = 6
    TIMER_ENTRY = 7
    TIMER_EXIT = 8
    CALL_QUEUE = 9
    CALL_ENTRY = 10
    CALL_EXIT = 11
    IPI_SEND = 12
    TLB_FLUSH = 13
    SWITCH = 14
    WAKEUP = 15
    WORK_ENTRY = 16
    WORK_EXIT = 17
    PAGE_FAULT = 18
    SYSCALL_ENTRY = 19
    SYSCALL_EXIT = 20
    NMI = 21
    MACHINE_CHECK = 22
    IDLE = 23
    FREQUENCY = 24
    TICK_STOP = 25
    LOST = 26
    SKIPPED = 27
    NAPI_POLL = 28
    IPI_SEND_FOR = 29


class SentBy(IntEnum):
    """In place of a thread (unsigned there), of a sending that was not its own doing."""

    INTERRUPT = -1
    SOFTIRQ = -2


class EventVector(IntEnum):
    """Interrupts of the processor, in the arguments of VECTOR_ENTRY and VECTOR_EXIT."""

    LOCAL_TIMER = 0
    RESCHEDULE = 1
    CALL_FUNCTION = 2
    CALL_FUNCTION_SINGLE = 3
    IRQ_WORK = 4
    THERMAL = 5
    THRESHOLD = 6
    DEFERRED_ERROR = 7
    ERROR = 8
    SPURIOUS = 9
    PLATFORM = 10


def _names(enum: type[IntEnum]) -> tuple[str, ...]:
    """Give the names in lower case, as they stand in Parquet, in the order of their numbers."""
    return tuple(member.name.lower() for member in sorted(enum))


# Position is the number: tests/seam holds these to the header, so that no number is left out.
GAP_THREADS = _names(GapThread)
STAMP_EVENTS = _names(StampEvent)
SERIES = _names(HistogramSeries)
EVENT_KINDS = (None, *_names(EventKind))
EVENT_VECTORS = _names(EventVector)

CLOCK_POINT = np.dtype([("tsc", "<u8"), ("mono_raw_ns", "<u8"), ("width_ticks", "<u8")])

FILE_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u2"),
        ("kind", "<u2"),
        ("record_size", "<u4"),
        ("run_id", "<u4"),
        ("n_flows", "<u4"),
        ("epoch_tsc", "<u8"),
        ("nominal_tsc_hz", "<u8"),
        ("first", CLOCK_POINT),
        ("last", CLOCK_POINT),
        ("n_records", "<u8"),
        ("thread", "S16"),
        ("reserved", "V16"),
    ]
)

PACKET = np.dtype(
    [
        ("seq", "<u8"),
        ("due_tsc", "<u8"),
        ("sent_tsc", "<u8"),
        ("received_tsc", "<u8"),
        ("arrival_window", "<u4"),
        ("flow", "<u4"),
        ("frame_len", "<u2"),
        ("flags", "<u2"),
        ("direction", "u1"),
        ("reserved", "V3"),
    ]
)

GAP = np.dtype([("start_tsc", "<u8"), ("end_tsc", "<u8"), ("thread", "<u4"), ("n_packets", "<u4")])

STAMP = np.dtype(
    [
        ("tsc", "<u8"),
        ("seq", "<u8"),
        ("run_id", "<u4"),
        ("window", "<u4"),
        ("direction", "u1"),
        ("event", "u1"),
        ("reserved", "V6"),
    ]
)

EVENT = np.dtype(
    [
        ("tsc", "<u8"),
        ("thread", "<u4"),
        ("cpu", "<u2"),
        ("kind", "<u2"),
        ("args", "<u8", (2,)),
    ]
)

INJECTION = np.dtype(
    [
        ("start_tsc", "<u8"),
        ("end_tsc", "<u8"),
        ("cause", "<u4"),
        ("thread", "<u4"),
        ("arg", "<u8"),
    ]
)

HISTOGRAM = np.dtype(
    [
        ("value_ticks", "<i8"),
        ("width_ticks", "<u8"),
        ("count", "<u8"),
        ("series", "<u2"),
        ("is_void", "u1"),
        ("is_cold", "u1"),
        ("direction", "u1"),
        ("reserved", "V3"),
    ]
)

# Bytes of the frame follow: as many as record_size of the file's header says.
FRAME = np.dtype(
    [
        ("pos", "<u8"),
        ("ts_ns", "<i8"),
        ("clock_ns", "<i8"),
        ("wire_len", "<u4"),
        ("cap_len", "<u4"),
        ("n_bytes", "<u2"),
        ("flags", "<u2"),
        ("reserved", "V4"),
    ]
)

TIME_COUNT = np.dtype(
    [
        ("start_ns", "<i8"),
        ("value_ns", "<i8"),
        ("n", "<u8"),
        ("direction", "u1"),
        ("is_void", "u1"),
        ("reserved", "V6"),
    ]
)

PACKET_BLOCK_SIZE = 1 << 12

# Packets by column: n of each, what is behind them means nothing.
PACKET_BLOCK = np.dtype(
    [
        ("n", "<u8"),
        ("seq", "<u8", (PACKET_BLOCK_SIZE,)),
        ("due_ns", "<i8", (PACKET_BLOCK_SIZE,)),
        ("sent_ns", "<i8", (PACKET_BLOCK_SIZE,)),
        ("received_ns", "<i8", (PACKET_BLOCK_SIZE,)),
        ("arrival_window_ns", "<i8", (PACKET_BLOCK_SIZE,)),
        ("flags", "<u2", (PACKET_BLOCK_SIZE,)),
        ("direction", "u1", (PACKET_BLOCK_SIZE,)),
    ]
)

# Where a running generator lets others read what it counts (live_format.h).
LIVE = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("n_directions", "<u4"),
        ("run_id", "<u4"),
        ("n_counters", "<u4"),
        ("tsc_hz", "<u8"),
        ("first", CLOCK_POINT),
        ("epoch_tsc", "<u8"),
        ("end_tsc", "<u8"),
        ("warm_up_ns", "<u8"),
        ("duration_ns", "<u8"),
        ("counters_at", "<u8", (2,)),
        ("histograms_at", "<u8", (2, 2)),
        ("gaps_at", "<u8"),
        ("names_at", "<u8"),
        ("n_series", "<u4"),
        ("n_buckets", "<u4"),
        ("exact_bits", "<u4"),
        ("sub_bits", "<u4"),
    ]
)

# The C name of each struct: what taut-layout prints and the seam test looks up.
STRUCTS = {
    "clock_point": CLOCK_POINT,
    "record_file_header": FILE_HEADER,
    "packet_record": PACKET,
    "gap_record": GAP,
    "stamp_record": STAMP,
    "event_record": EVENT,
    "injection_record": INJECTION,
    "histogram_record": HISTOGRAM,
    "frame_record": FRAME,
    "time_count_record": TIME_COUNT,
    "packet_block": PACKET_BLOCK,
    "live_header": LIVE,
}

RECORDS = {
    RecordKind.PACKET: PACKET,
    RecordKind.GAP: GAP,
    RecordKind.EVENT: EVENT,
    RecordKind.INJECTION: INJECTION,
    RecordKind.HISTOGRAM: HISTOGRAM,
    RecordKind.FRAME: FRAME,
    RecordKind.TIME_COUNT: TIME_COUNT,
    RecordKind.PACKET_BLOCK: PACKET_BLOCK,
    RecordKind.STAMP: STAMP,
}
