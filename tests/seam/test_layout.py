"""The C compiler's view of record_format.h against records/layout.py."""

from collections.abc import Callable
from typing import Any

import pytest

from taut.records import layout


@pytest.fixture(scope="module")
def printed(answer: Callable[..., Any]) -> dict[str, Any]:
    return answer("taut-layout")


@pytest.mark.parametrize("name", layout.STRUCTS)
def test_sizes_and_offsets_agree(printed: dict[str, Any], name: str) -> None:
    dtype = layout.STRUCTS[name]
    compiled = printed[name]

    assert compiled["size"] == dtype.itemsize
    assert compiled["version"] == layout.VERSION
    assert [(field["name"], field["offset"], field["size"]) for field in compiled["fields"]] == [
        (field, dtype.fields[field][1], dtype.fields[field][0].itemsize) for field in dtype.names
    ]


@pytest.mark.parametrize(
    ("name", "prefix", "values"),
    [
        ("record_kind", "RECORD_", {kind.name: kind.value for kind in layout.RecordKind}),
        ("packet_flag", "PACKET_", {flag.name: flag.value for flag in layout.PacketFlag}),
        ("frame_flag", "FRAME_", {flag.name: flag.value for flag in layout.FrameFlag}),
        ("stamp_event", "STAMP_", {n.upper(): i for i, n in enumerate(layout.STAMP_EVENTS)}),
        ("gap_thread", "GAP_", {name.upper(): i for i, name in enumerate(layout.GAP_THREADS)}),
        ("histogram_series", "SERIES_", {name.upper(): i for i, name in enumerate(layout.SERIES)}),
        (
            "event_kind",
            "EVENT_",
            {name.upper(): i for i, name in enumerate(layout.EVENT_KINDS) if name},
        ),
        ("sent_by", "SENT_BY_", {one.name: one.value for one in layout.SentBy}),
        ("event_vector", "VECTOR_", {n.upper(): i for i, n in enumerate(layout.EVENT_VECTORS)}),
    ],
)
def test_values_of_enumerations_agree(
    printed: dict[str, Any], name: str, prefix: str, values: dict[str, int]
) -> None:
    assert printed[name]["values"] == {prefix + key: value for key, value in values.items()}
