import pytest

from made_documents import made_variant
from taut.analysis.load import load_words, main_load, rate_words, share_words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0, "0 %"),
        (1e-7, "0.00001 %"),
        (0.0000012, "0.00012 %"),
        (0.0312, "3.1 %"),
        (0.508, "51 %"),
        (0.9999, "99.9 %"),
        (1, "100 %"),
    ],
)
def test_share_is_never_rounded_to_all_or_nothing(share, words):
    assert share_words(share) == words


@pytest.mark.parametrize(
    ("pps", "words"), [(None, "unknown rate"), (50, "50 pkt/s"), (1.2e6, "1.2 Mpkt/s")]
)
def test_rates_are_said_as_people_do(pps, words):
    assert rate_words(pps) == words


def row(dut, pps, trials, *, floor=False, schedule="constant", both=False):
    return made_variant(
        dut=dut,
        schedule=schedule,
        both=both,
        asked_pps=float(pps),
        trials=["x"] * trials,
        is_floor=floor,
    )


def test_main_load_has_most_devices_then_most_trials_then_the_lowest_rate():
    rows = [row("a", 10, 1), row("a", 20, 1), row("b", 20, 1), row("a", 30, 2), row("b", 30, 2)]

    assert main_load(rows)[3] == 30
    assert main_load(rows[:3])[3] == 20
    assert main_load([row("floor", 5, 1, floor=True)])[3] == 5
    assert main_load([]) is None


def test_load_names_what_is_not_plain():
    words = load_words(row("a", 1e5, 1, schedule="poisson", both=True).load)

    assert words == "100 kpkt/s, 64 B in both directions (poisson)"
