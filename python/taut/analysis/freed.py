"""Memory that a step no longer needs, given back to the system before the next one begins."""

import ctypes

import pyarrow as pa


def give_back() -> None:
    """Return what was freed: Arrow's pool keeps it, and so does the C library between its blocks.

    The step after would take more beside it: a report's memory is the most that is held at once.
    """
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)  # malloc_trim(3) of glibc; DPDK needs Linux in any case
