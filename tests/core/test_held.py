"""A folder that is held: nobody else gets it meanwhile, and anybody where there are no locks."""

import errno
import fcntl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from taut.core.held import held_alone


def test_a_folder_is_held_by_one_until_he_lets_go(tmp_path: Path) -> None:
    with held_alone(tmp_path) as first:
        with held_alone(tmp_path) as second:
            assert (first, second) == (True, False)
        with held_alone(tmp_path) as third:
            assert not third

    with held_alone(tmp_path) as later:
        assert later


def test_a_file_system_without_locks_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_none(*_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", has_none)

    with held_alone(tmp_path) as is_ours:
        assert is_ours


def test_who_waits_for_another_gives_up_in_time(tmp_path: Path) -> None:
    with held_alone(tmp_path), held_alone(tmp_path, within_s=0.05) as is_ours:
        assert not is_ours


def test_who_waits_for_another_has_it_when_that_lets_go(tmp_path: Path) -> None:
    def wait() -> bool:
        with held_alone(tmp_path, within_s=60) as is_ours:
            return is_ours

    with ThreadPoolExecutor(1) as pool:
        with held_alone(tmp_path):
            waiting = pool.submit(wait)
            with pytest.raises(TimeoutError):
                waiting.result(0.1)

        assert waiting.result()
