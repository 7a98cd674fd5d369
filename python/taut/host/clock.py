"""The TSC as taut-clock sees it: usable or not, its rate, its skew between cores."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from taut.core.binaries import find_binary
from taut.core.cpus import format_cpu_list
from taut.core.errors import TautError

_PROGRAM = "taut-clock"
_TIMEOUT_S = 60


def read_clock(cores: Sequence[int] = ()) -> dict[str, Any]:
    """Run taut-clock on cores and give what it measured; `usable` may be false."""
    command = [str(find_binary(_PROGRAM))]
    if cores:
        command += ["--cores", format_cpu_list(cores)]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
        document = json.loads(ended.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as error:
        raise TautError(f"{_PROGRAM}: no answer ({error}); run it by hand") from None
    if not isinstance(document, dict):
        raise TautError(f"{_PROGRAM}: not a JSON object; run it by hand")
    return document
