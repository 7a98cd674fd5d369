import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar import cases
from taut.core.cpus import (
    MAX_CORES,
    cores_in,
    cpu_mask,
    cpuset_cores,
    format_cpu_list,
    parse_cpu_list,
    parse_cpu_mask,
)
from taut.core.errors import InputError


def test_lists_and_ranges_are_read() -> None:
    assert parse_cpu_list("0-3,8") == (0, 1, 2, 3, 8)
    assert parse_cpu_list("") == ()


@pytest.mark.parametrize(("text", "written"), cases("cpus"))
def test_lists_are_read_as_the_data_plane_reads_them(text: str, written: str | None) -> None:
    if written is None:
        with pytest.raises(InputError, match="cores"):
            parse_cpu_list(text)
    else:
        assert format_cpu_list(parse_cpu_list(text)) == written


@pytest.mark.parametrize("text", ["1;2", "0-99999999999", "9" * 5_000, f"{'9' * 5_000}-3"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="cores"):
        parse_cpu_list(text)


def test_of_a_kernel_more_cores_are_read_than_anybody_can_name() -> None:
    assert cores_in("0-2047\n") == tuple(range(2048))
    assert cores_in("0-99999999999") is None
    with pytest.raises(InputError, match="cores up to 1023"):
        parse_cpu_list("0-2047")


@given(st.sets(st.integers(min_value=0, max_value=300)))
def test_a_written_list_reads_back(cores: set[int]) -> None:
    assert set(parse_cpu_list(format_cpu_list(cores))) == cores


def test_asking_for_the_cores_of_the_cpuset_changes_nothing() -> None:
    before = os.sched_getaffinity(0)

    assert before <= set(cpuset_cores())
    assert MAX_CORES - 1 not in cpuset_cores()
    assert os.sched_getaffinity(0) == before


def test_masks_are_words_of_32_bits() -> None:
    assert cpu_mask([1]) == "2"
    assert cpu_mask([0, 33]) == "2,00000001"


def test_masks_read_back_whatever_their_leading_zeros() -> None:
    assert parse_cpu_mask("2") == (1,)
    assert parse_cpu_mask("00000000,00000003\n") == (0, 1)
    assert parse_cpu_mask("2,00000001") == (0, 33)


@pytest.mark.parametrize(
    "text", ["", ",", "3,", "-1", "+1", "1_0", "0x3", "g", "100000000", "1 0", "0,-1"]
)
def test_what_is_no_mask_to_the_kernel_is_none_here(text: str) -> None:
    with pytest.raises(ValueError, match="is no mask of cores"):
        parse_cpu_mask(text)
