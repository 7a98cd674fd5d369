r"""Arrow rows to and from the CSV that PostgreSQL's COPY speaks.

NULL is nothing, an empty text is `""`, bytes are hexadecimal digits after `\x`.
"""

import io

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from taut.core.errors import InputError

# numeric holds the unsigned 64-bit numbers that bigint does not.
_SQL_TYPES = (
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_uint64, "NUMERIC(20, 0)"),
    (pa.types.is_integer, "BIGINT"),
    (pa.types.is_floating, "DOUBLE PRECISION"),
    (pa.types.is_decimal, "NUMERIC"),
    (pa.types.is_string, "TEXT"),
    (pa.types.is_large_string, "TEXT"),
    (pa.types.is_binary, "BYTEA"),
    (pa.types.is_large_binary, "BYTEA"),
    (pa.types.is_fixed_size_binary, "BYTEA"),
)

_NUMERIC = 1700
# Object ids of PostgreSQL's pg_type.dat; they never change.
_ARROW_TYPES = {
    16: pa.bool_(),
    17: pa.binary(),
    20: pa.int64(),
    21: pa.int16(),
    23: pa.int32(),
    25: pa.string(),
    700: pa.float32(),
    701: pa.float64(),
    1043: pa.string(),
}


def sql_type(column: str, kind: pa.DataType) -> str:
    """The type a column gets in the server."""
    for is_kind, name in _SQL_TYPES:
        if is_kind(kind):
            return name
    raise InputError(f"column {column}: a table cannot hold {kind}; convert it first")


def arrow_type(column: str, oid: int, scale: int | None) -> pa.DataType:
    """Give the Arrow type of a server's column; a numeric without a declared scale is whole."""
    if oid == _NUMERIC:
        return pa.decimal128(38, scale or 0)
    if oid not in _ARROW_TYPES:
        raise InputError(f"column {column}: type {oid} of PostgreSQL is not known; add a CAST")
    return _ARROW_TYPES[oid]


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns without dictionaries."""
    return pa.schema(
        (f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema
    )


def to_csv(batch: pa.RecordBatch) -> bytes:
    """Write rows of a plain schema."""
    columns = [_to_hex(c) if _is_bytes(c.type) else c for c in batch.columns]
    written = io.BytesIO()
    rows = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    csv.write_csv(rows, written, csv.WriteOptions(include_header=False))
    return written.getvalue()


def from_csv(text: bytes, schema: pa.Schema) -> pa.Table:
    """Read rows that COPY wrote with a header."""
    as_read = [pa.large_string() if _is_bytes(f.type) else f.type for f in schema]
    rows = csv.read_csv(
        pa.BufferReader(text),
        parse_options=csv.ParseOptions(
            newlines_in_values=pa.string() in as_read, ignore_empty_lines=False
        ),
        convert_options=csv.ConvertOptions(
            column_types=dict(zip(schema.names, as_read, strict=True)),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    columns = [_from_hex(c) if _is_bytes(f.type) else c for c, f in zip(rows, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def _is_bytes(kind: pa.DataType) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
        )
    )


def _to_hex(values: pa.Array) -> pa.Array:
    offsets, data = _buffers(values.cast(pa.large_binary()))
    digits = _from_buffers(pa.large_string(), offsets * 2, data.hex().encode())
    mark, nothing = (pa.scalar(text, pa.large_string()) for text in ("\\x", ""))
    marked = pc.binary_join_element_wise(mark, digits, nothing)
    return pc.if_else(values.is_valid(), marked, pa.scalar(None, pa.large_string()))


def _from_hex(values: pa.ChunkedArray) -> pa.Array:
    whole = values.combine_chunks()
    digits = pc.utf8_slice_codeunits(pc.fill_null(whole, "\\x"), 2)
    offsets, data = _buffers(digits.cast(pa.large_binary()))
    decoded = _from_buffers(pa.large_binary(), offsets // 2, bytes.fromhex(data.decode()))
    return pc.if_else(whole.is_valid(), decoded, pa.scalar(None, pa.large_binary())).cast(
        pa.binary()
    )


def _buffers(values: pa.LargeBinaryArray) -> tuple[npt.NDArray[np.int64], bytes]:
    """Offsets from 0, and the bytes they point into."""
    _, offsets, data = values.buffers()
    if not len(values):
        return np.zeros(1, np.int64), b""
    at = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    return at - at[0], data[int(at[0]) : int(at[-1])].to_pybytes() if data is not None else b""


def _from_buffers(kind: pa.DataType, offsets: npt.NDArray[np.int64], data: bytes) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers)
