"""Whether the kernel can be traced here: asked of the kernel, not of the program under test."""

import subprocess
from functools import cache

import pytest

# As taut-trace does it: in a mount namespace of its own where tracefs is mounted nowhere.
_PROBE = """
at=/sys/kernel/tracing
mountpoint -q $at || mount -t tracefs nodev $at || exit
mkdir $at/instances/tests-$$ && rmdir $at/instances/tests-$$
"""


@cache
def _can_trace() -> bool:
    probe = ["unshare", "--mount", "sh", "-c", _PROBE]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def skip_if_untraceable(said: str) -> None:
    """Skip a test whose program says that it finds no tracefs, if that is true."""
    if "tracefs" in said and not _can_trace():
        pytest.skip(said.strip())
