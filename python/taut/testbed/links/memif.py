"""memif: shared-memory rings between two processes, no kernel in the path."""

from taut.testbed.socket_link import SocketLinkKind


class MemifLinkKind(SocketLinkKind):
    """Both ends are memif ports."""

    name = "memif"
    device_kind = "memif"
    summary = "shared-memory rings between two user-space processes (DPDK net_memif)"
    path = "memif (shared memory between two processes)"
