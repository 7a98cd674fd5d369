import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import taut
from grammar import cases
from taut.analysis.load import rate_words
from taut.core.errors import InputError
from taut.core.units import (
    Rate,
    bytes_words,
    digits_of,
    exact_rate,
    format_ns,
    length_words,
    offered_pps,
    parse_duration_ns,
    parse_rate,
    parse_signed_duration_ns,
    spell_rate,
)


@pytest.mark.parametrize(("text", "ns"), cases("duration"))
def test_durations_are_read_as_the_data_plane_reads_them(text: str, ns: str | None) -> None:
    if ns is None:
        with pytest.raises(InputError, match="duration"):
            parse_duration_ns(text)
    else:
        assert parse_duration_ns(text) == int(ns)


@pytest.mark.parametrize(("text", "ns"), cases("signed_duration"))
def test_signed_durations_are_read_as_the_data_plane_reads_them(text: str, ns: str | None) -> None:
    if ns is None:
        with pytest.raises(InputError, match="duration"):
            parse_signed_duration_ns(text)
    else:
        assert parse_signed_duration_ns(text) == int(ns)


@pytest.mark.parametrize(("text", "meaning"), cases("rate"))
def test_rates_are_read_as_the_data_plane_reads_them(text: str, meaning: str | None) -> None:
    if meaning is None:
        with pytest.raises(InputError, match="rate"):
            offered_pps(text, 64)
    else:
        pps = float(meaning)
        assert offered_pps(text, 64) == pytest.approx(pps, rel=1e-12)
        assert offered_pps(spell_rate(text), 64) == pytest.approx(pps, rel=1e-12)
        assert offered_pps(exact_rate(text), 64) == pytest.approx(pps, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [("100 kpkt/s", "100kpps"), ("100Kpps", "100kpps"), ("5 Mbit/s", "5Mbps"), ("12pps", "12pps")],
)
def test_a_rate_has_one_spelling(text: str, spelled: str) -> None:
    assert spell_rate(text) == spelled


@pytest.mark.parametrize(
    ("text", "handed"),
    [
        ("100 kpkt/s", "100000pps"),
        ("1.5Kpps", "1500pps"),
        ("0.001Gpps", "1000000pps"),
        ("0.5pps", "0.5pps"),
        ("1000.000pps", "1000pps"),
        ("1.000001kpps", "1000.001pps"),
        ("50 Mbit/s", "50000000bps"),
        ("12000Gbps", "12000000000000bps"),
    ],
)
def test_programs_are_handed_rates_without_a_prefix(text: str, handed: str) -> None:
    assert exact_rate(text) == handed


def test_rates_are_packets_or_bits() -> None:
    assert parse_rate("1.5Mpps") == Rate(1_500_000, "pps")
    assert parse_rate("10Gbit/s") == Rate(10_000_000_000, "bps")


def test_bits_count_the_frame_or_what_the_wire_adds() -> None:
    rate = parse_rate("10Gbps")

    # The well-known 14.88 Mpkt/s of 64 B frames on a 10G wire.
    assert rate.pps(64, "l1") == pytest.approx(14_880_952, abs=1)
    assert rate.pps(64, "l2") == pytest.approx(19_531_250)


def test_packets_do_not_depend_on_the_frame() -> None:
    assert parse_rate("100kpps").pps(1500, "l1") == 100_000


@given(st.integers(min_value=1, max_value=10**9))
def test_what_is_printed_is_read_back_within_its_digits(number: int) -> None:
    assert parse_duration_ns(format_ns(number)) == pytest.approx(number, rel=5e-3)
    assert parse_rate(rate_words(number)).value == pytest.approx(number, rel=5e-4)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1234, "1.23 µs"),
        (9_996, "10.0 µs"),
        (56_100, "56.1 µs"),
        (99_960, "100 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (999_986, "1.00 ms"),
        (5_000_000, "5 ms"),
    ],
)
def test_durations_are_written_with_three_digits(ns: int, text: str) -> None:
    assert format_ns(ns) == text


def test_microseconds_are_printed_with_one_spelling() -> None:
    """After a number or a placeholder; what is typed (`100us`) and docstrings stay as they are."""
    found = [
        f"{path}: {text!r}"
        for path in Path(taut.__file__).parent.rglob("*.py")
        for text in _texts(ast.parse(path.read_text()))
        if re.search(r"(^|\d) us\b", text)
    ]

    assert found == []


def _texts(module: ast.Module) -> Iterator[str]:
    """Every string but the docstrings."""
    nodes = list(ast.walk(module))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


@pytest.mark.parametrize(
    ("value", "n", "text"),
    [
        (0.12345, 3, "0.123"),
        (1.0, 3, "1"),
        (999.4, 3, "999"),
        (999.6, 3, "1,000"),
        (20_123.4, 3, "20,100"),
        (-1_214.4, 3, "-1,210"),
        (204.8, 4, "204.8"),
        (12_144.0, 4, "12,140"),
    ],
)
def test_large_numbers_are_no_powers_of_ten(value: float, n: int, text: str) -> None:
    assert digits_of(value, n) == text


@pytest.mark.parametrize(
    ("value", "unlike", "text"),
    [
        (1.0, 1, "1"),
        (1.004, 1, "1.004"),
        (0.99996, 1, "0.99996"),
        (1 + 1e-12, 1, "1"),
        (99.97, 100, "99.97"),
        (0.00001, 100, "0.00001"),
        (2.8e-6, None, "0.0000028"),
    ],
)
def test_what_is_nearly_a_round_number_is_told_from_it(
    value: float, unlike: float | None, text: str
) -> None:
    assert digits_of(value, unlike=unlike) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [(500_000_000, "500 ms"), (2_500_000_000, "2.50 s"), (200_000_000_000, "3 min 20 s")],
)
def test_lengths_below_a_minute_have_three_digits(ns: int, text: str) -> None:
    assert length_words(ns) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(350_400_000, "350 MB"), (999e6, "999 MB"), (1_234e9, "1,234.0 GB")]
)
def test_sizes_are_in_the_unit_that_fits(n_bytes: float, text: str) -> None:
    assert bytes_words(n_bytes) == text
