import pytest

from taut.core.wrap import wrap


def test_lines_break_between_words_only() -> None:
    text = "write 120 to /proc/sys/vm/stat_interval, or isolcpus=domain,managed_irq,2-3 at boot"

    lines = wrap(text, 20, "  ", "    ")

    assert lines == [
        "  write 120 to",
        "    /proc/sys/vm/stat_interval,",
        "    or",
        "    isolcpus=domain,managed_irq,2-3",
        "    at boot",
    ]


@pytest.mark.parametrize("number", ["1.5 µs", "10 kpkt/s", "95 %", "64 B", "7 s", "2 MiB", "3 h"])
def test_a_number_stays_with_its_unit(number: str) -> None:
    for width in range(len(number), 24):
        lines = wrap(f"at most {number} or less", width)
        assert any(number in line for line in lines), width


def test_what_only_begins_like_a_unit_is_a_word_of_its_own() -> None:
    assert wrap("core 2 seems idle", 10) == ["core 2", "seems idle"]
