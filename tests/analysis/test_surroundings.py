"""Beside what a device was measured: named where it differs, and set beside the usual."""

from typing import Any

from made_documents import made_result
from taut.analysis.pooling import variant_of
from taut.analysis.states import effects_of, found_of_states
from taut.analysis.surroundings import changes_among, words_among
from taut.analysis.trial_names import headings
from taut.records.documents.load import Device

ENOUGH = 11
"""Pairs of runs in which each of the figures below can be claimed."""


def device(host: str = "as found", neighbour: str | None = None) -> Device:
    return Device("eager", host=host, neighbour=neighbour)


def result(neighbour: str | None, repetition: int, p50: int, **changes: Any) -> dict[str, Any]:
    figures = {"n": 100_000, "p50": p50, "p99": 3 * p50, "p99.9": 9 * p50}
    at = 3 * repetition + [None, "cache", "disk"].index(neighbour)
    row = {"status": "whole", "repetition": repetition, "index": at, "neighbour": neighbour}
    row |= {"name": f"{at:03d}-r{repetition}", "latency_without_void_ns": figures}
    return row | changes


def in_turn(n: int, **p50: int) -> list[dict[str, Any]]:
    return [
        result(None if name == "idle" else name, repetition, value + 10 * repetition)
        for repetition in range(1, n + 1)
        for name, value in p50.items()
    ]


def sentence(rows: list[dict[str, Any]]) -> str:
    found = found_of_states([made_result(**row) for row in rows])
    assert found is not None
    return found.sentence


def test_only_what_differs_is_named():
    idle, cache = device(), device(neighbour="cache")
    trimmed = device("trimmed", "cache")

    assert words_among([idle, idle])(idle) == ()
    assert words_among([idle, cache])(idle) == ("idle",)
    assert words_among([idle, cache])(cache) == ("cache",)
    assert words_among([cache, trimmed])(trimmed) == ("trimmed",)
    assert words_among([idle, trimmed])(trimmed) == ("trimmed", "cache")
    assert (idle.unusual, trimmed.unusual) == ("", ", trimmed, cache")


def test_neighbours_are_set_beside_idle_and_states_beside_as_found():
    hosts, beside = ("trimmed", "as found"), ("cache", None, "disk")

    found = changes_among(device(host, neighbour) for host in hosts for neighbour in beside)

    assert [(one.before, one.after) for one in found] == [
        (("as found", "bare", "idle"), ("as found", "bare", "cache")),
        (("as found", "bare", "idle"), ("as found", "bare", "disk")),
        (("trimmed", "bare", "idle"), ("trimmed", "bare", "cache")),
        (("trimmed", "bare", "idle"), ("trimmed", "bare", "disk")),
        (("as found", "bare", "idle"), ("trimmed", "bare", "idle")),
        (("as found", "bare", "cache"), ("trimmed", "bare", "cache")),
        (("as found", "bare", "disk"), ("trimmed", "bare", "disk")),
    ]
    assert found[0].words == "cache beside idle"
    assert found[-1].words == "trimmed beside as found"


def test_places_are_set_beside_bare_and_named_where_they_differ_but_not_at_the_floor():
    bare, inside = device(), Device("eager", placement="container")
    floor = Device("loopback_memif", "loopback", placement="bare")

    found = changes_among([inside, bare])
    words = words_among([floor, bare, inside])

    assert [one.words for one in found] == ["container beside bare"]
    assert (words(floor), words(bare), words(inside)) == ((), ("bare",), ("container",))
    assert words_among([floor, inside])(inside) == ()
    assert (bare.unusual, inside.unusual) == ("", ", container")


def test_what_was_not_measured_is_beside_nothing():
    assert changes_among([device(), device("trimmed", "cache")]) == []


def test_each_neighbour_has_its_effect_with_its_interval():
    said = sentence(in_turn(ENOUGH, idle=1_000, cache=1_500, disk=1_000))

    cache, disk = said.split("; ")
    assert cache.startswith("Cache beside idle: eager median 1.06 µs → 1.56 µs (1.47 times longer")
    assert "95 % interval" in cache
    assert disk.startswith("Disk beside idle: eager median 1.06 µs → 1.06 µs (no difference shown")


def test_the_state_in_which_neighbours_were_compared_is_said_where_there_are_two():
    rows = [
        {**row, "host": host, "index": 6 * row["repetition"] + i}
        for row in in_turn(4, idle=1_000, cache=1_500)
        for i, host in enumerate(("as found", "trimmed"))
    ]

    effects = effects_of([made_result(**row) for row in rows])

    assert list(dict.fromkeys(effect.change for effect in effects)) == [
        "cache beside idle (as found)",
        "cache beside idle (trimmed)",
        "trimmed beside as found (idle)",
        "trimmed beside as found (cache)",
    ]
    said = sentence(rows)
    assert said.startswith("Cache beside idle (as found): eager median 1.02 µs → 1.52 µs")
    assert "; 1 more in the table (medians of runs)." in said


def test_few_changes_need_no_table():
    results = [made_result(**row) for row in in_turn(4, idle=1_000, cache=1_500)]

    assert effects_of(results) == []


def test_repetitions_beside_two_neighbours_are_two_variants_of_two_names():
    idle, cache = (made_result(**row) for row in in_turn(1, idle=1_000, cache=1_500))

    assert variant_of(idle) != variant_of(cache)
    assert list(headings([idle, cache]).values()) == [
        "eager, idle, 100 kpkt/s, repetition 1",
        "eager, cache, 100 kpkt/s, repetition 1",
    ]
