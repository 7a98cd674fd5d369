import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.core.errors import InputError
from taut.core.units import Rate, format_ns, format_rate, parse_duration_ns, parse_rate


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("10s", 10_000_000_000),
        ("250ms", 250_000_000),
        ("1.5ms", 1_500_000),
        ("100us", 100_000),
        ("100µs", 100_000),
        ("7ns", 7),
        ("2m", 120_000_000_000),
        ("2min", 120_000_000_000),
        ("12h", 43_200_000_000_000),
    ],
)
def test_durations_are_integer_nanoseconds(text: str, ns: int) -> None:
    assert parse_duration_ns(text) == ns


@pytest.mark.parametrize("text", ["10", "s", "", "-1s", "1e3s", "0.5ns", "1 day"])
def test_a_duration_without_unit_or_sense_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="duration"):
        parse_duration_ns(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("100kpps", Rate(100_000, "pps")),
        ("1.5Mpps", Rate(1_500_000, "pps")),
        ("50Mbps", Rate(50_000_000, "bps")),
        ("10Gbit/s", Rate(10_000_000_000, "bps")),
        ("12 pkt/s", Rate(12, "pps")),
    ],
)
def test_rates_are_packets_or_bits(text: str, rate: Rate) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["100", "0pps", "fast", "-1kpps", "1kfoo"])
def test_a_rate_without_unit_or_packets_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="rate"):
        parse_rate(text)


def test_bits_count_the_frame_or_what_the_wire_adds() -> None:
    rate = parse_rate("10Gbps")

    # The well-known 14.88 Mpkt/s of 64 B frames on a 10G wire.
    assert rate.pps(64, "l1") == pytest.approx(14_880_952, abs=1)
    assert rate.pps(64, "l2") == pytest.approx(19_531_250)


def test_packets_do_not_depend_on_the_frame() -> None:
    assert parse_rate("100kpps").pps(1500, "l1") == 100_000


@given(st.integers(min_value=1, max_value=10**12))
def test_a_written_rate_reads_back_within_its_digits(pps: int) -> None:
    assert parse_rate(format_rate(pps)).value == pytest.approx(pps, rel=1e-5)


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0 ns"), (999, "999 ns"), (1234, "1.23 us"), (56_100, "56.1 us"), (5_000_000, "5 ms")],
)
def test_durations_are_written_with_three_digits(ns: int, text: str) -> None:
    assert format_ns(ns) == text
