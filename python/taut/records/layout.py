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


class FrameFlag(IntFlag):
    """Flags of one frame record."""

    TRUNCATED = 1 << 0


# Position is the value of enum gap_thread, histogram_series, event_kind and event_vector.
GAP_THREADS = ("generator", "forwarder", "noise")
SERIES = (
    "service",
    "intent",
    "jitter",
    "departure_error",
    "inter_departure",
    "arrival_window",
    "ipdv",
    "inter_arrival",
    "poll_period",
)

EVENT_KINDS = (
    None,
    "irq_entry",
    "irq_exit",
    "vector_entry",
    "vector_exit",
    "softirq_entry",
    "softirq_exit",
    "timer_entry",
    "timer_exit",
    "call_queue",
    "call_entry",
    "call_exit",
    "ipi_send",
    "tlb_flush",
    "switch",
    "wakeup",
    "work_entry",
    "work_exit",
    "page_fault",
    "syscall_entry",
    "syscall_exit",
    "nmi",
    "machine_check",
    "idle",
    "frequency",
    "tick_stop",
    "lost",
    "skipped",
    "napi_poll",
    "ipi_send_for",
)
EVENT_VECTORS = (
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "thermal",
    "threshold",
    "deferred_error",
    "error",
    "spurious",
    "platform",
)

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

# The C name of each struct: what taut-layout prints and the seam test looks up.
STRUCTS = {
    "clock_point": CLOCK_POINT,
    "record_file_header": FILE_HEADER,
    "packet_record": PACKET,
    "gap_record": GAP,
    "event_record": EVENT,
    "injection_record": INJECTION,
    "histogram_record": HISTOGRAM,
    "frame_record": FRAME,
}

RECORDS = {
    RecordKind.PACKET: PACKET,
    RecordKind.GAP: GAP,
    RecordKind.EVENT: EVENT,
    RecordKind.INJECTION: INJECTION,
    RecordKind.HISTOGRAM: HISTOGRAM,
    RecordKind.FRAME: FRAME,
}
