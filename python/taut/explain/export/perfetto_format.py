"""A Perfetto trace, written field by field: the few messages that tracks and slices need.

Field numbers are of perfetto's protos/perfetto/trace (trace_packet.proto, track_event.proto,
track_descriptor.proto, debug_annotation.proto), which never change once released.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import BinaryIO

_VARINT, _BYTES = 0, 2
_TRACE_PACKET = 1
_TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _FLAGS, _TRACK_DESCRIPTOR = 8, 10, 11, 13, 60
_UUID, _NAME, _PARENT = 1, 2, 5
_EVENT_ANNOTATION, _EVENT_TYPE, _EVENT_TRACK, _EVENT_NAME = 4, 9, 11, 23
_ANNOTATION_INT, _ANNOTATION_TEXT, _ANNOTATION_NAME = 4, 6, 10
_STATE_CLEARED = 1

Value = int | str


class _Type(IntEnum):
    BEGIN = 1
    END = 2
    INSTANT = 3


class PerfettoWriter:
    """Writes tracks, slices and instants; times are nanoseconds, none below `base_ns`."""

    def __init__(self, file: BinaryIO, base_ns: int = 0) -> None:
        self._file, self._base_ns = file, base_ns
        self._n_tracks = 0
        self.n_slices = 0
        self.n_instants = 0

    def track(self, name: str, parent: int = 0) -> int:
        """Add a track below another one and give its number."""
        self._n_tracks += 1
        uuid = self._n_tracks
        descriptor = _int(_UUID, uuid) + _text(_NAME, name)
        if parent:
            descriptor += _int(_PARENT, parent)
        flags = _int(_FLAGS, _STATE_CLEARED) if uuid == 1 else b""
        self._packet(flags + _bytes(_TRACK_DESCRIPTOR, descriptor))
        return uuid

    def slice(
        self, track: int, name: str, start_ns: int, end_ns: int, **values: Value | None
    ) -> None:
        """Add a slice; those of one track come in their order and do not overlap."""
        event = _int(_EVENT_TYPE, _Type.BEGIN) + _int(_EVENT_TRACK, track)
        self._event(start_ns, event + _text(_EVENT_NAME, name) + _annotations(values))
        self._event(end_ns, _int(_EVENT_TYPE, _Type.END) + _int(_EVENT_TRACK, track))
        self.n_slices += 1

    def instant(self, track: int, name: str, at_ns: int, **values: Value | None) -> None:
        """Add an event without a length."""
        event = _int(_EVENT_TYPE, _Type.INSTANT) + _int(_EVENT_TRACK, track)
        self._event(at_ns, event + _text(_EVENT_NAME, name) + _annotations(values))
        self.n_instants += 1

    def _event(self, at_ns: int, event: bytes) -> None:
        self._packet(_int(_TIMESTAMP, at_ns - self._base_ns) + _bytes(_TRACK_EVENT, event))

    def _packet(self, body: bytes) -> None:
        self._file.write(_bytes(_TRACE_PACKET, body + _int(_SEQUENCE, 1)))


def _annotations(values: Mapping[str, Value | None]) -> bytes:
    return b"".join(
        _bytes(
            _EVENT_ANNOTATION,
            _text(_ANNOTATION_NAME, name.replace("_", " "))
            + (
                _int(_ANNOTATION_INT, value)
                if isinstance(value, int)
                else _text(_ANNOTATION_TEXT, value)
            ),
        )
        for name, value in values.items()
        if value is not None and value != ""
    )


def _int(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
