"""A folder that is held: nobody else gets it meanwhile, and anybody where there are no locks."""

import errno
import fcntl
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
