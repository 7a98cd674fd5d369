"""Which DPDK is installed, and how much memory its programs take."""

import re
import shutil
import subprocess
from functools import cache

# Pages of 2 MB.
GENERATOR_HUGEPAGES = 64
DEVICE_HUGEPAGES = 32
"""The least of a device on DPDK: two ports' rings and 16384 packet buffers fit."""

_ASKED = (
    ["pkg-config", "--modversion", "libdpdk"],
    ["dpkg-query", "--show", "--showformat=${Version}", "dpdk"],
    # Where taut's packages alone are: its libraries, whatever ABI they have.
    ["dpkg-query", "--show", "--showformat=${Version}\\n", "librte-eal[0-9]*"],
)


@cache
def dpdk_version() -> str:
    """Version of the installed DPDK, `unknown` when nothing tells."""
    for command in _ASKED:
        if shutil.which(command[0]) is None:
            continue
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        match = re.match(r"\d+(\.\d+)*", ended.stdout)
        if match is not None:
            return match[0]
    return "unknown"
