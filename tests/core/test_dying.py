"""What taut starts ends with it, and only with it."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from taut.capture import native
from taut.core.dying import die_with
from waiting import wait_for


def test_a_process_whose_parent_was_gone_before_ends_at_once() -> None:
    """Its parent is another one now: not always process 1."""
    done = subprocess.run(["true"], preexec_fn=partial(die_with, os.getpid() + 1))

    assert done.returncode == 1


def test_where_taut_is_process_1_of_a_container_nothing_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("getpid", "getppid"):
        monkeypatch.setattr(os, name, lambda: 1)

    assert native._run(["true"], None, None) == (0, [])


def test_a_process_dies_with_a_killed_parent() -> None:
    script = (
        "import os, subprocess\n"
        "from functools import partial\n"
        "from taut.core.dying import die_with\n"
        "child = subprocess.Popen(['sleep', '600'], preexec_fn=partial(die_with, os.getpid()))\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)

    wait_for(f"the end of {child}", lambda: not _runs(child))


def _runs(pid: int) -> bool:
    try:
        return "sleep" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
