import errno
import time
from pathlib import Path

import pytest

from taut.host.host import Host
from taut.host.writer import Writer


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    begin = time.monotonic()

    with pytest.raises(OSError, match=r"sleep 60: not done after 0.1 s, ended") as caught:
        Writer(Host(tmp_path)).command(["sleep", "60"], timeout_s=0.1)

    assert caught.value.errno == errno.ETIMEDOUT
    assert time.monotonic() - begin < 30


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="sh -c echo no >&2; exit 3: no"):
        Writer(Host(tmp_path)).command(["sh", "-c", "echo no >&2; exit 3"], timeout_s=60)
