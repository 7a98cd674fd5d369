"""The kernel's own threads."""

from collections.abc import Iterator

from taut.host.host import Host
from taut.host.threads import Thread, read_thread


def kernel_threads(host: Host, name: str) -> Iterator[Thread]:
    """Those whose name starts so; what vanishes meanwhile or cannot be read is left out."""
    for pid in host.names("/proc"):
        if not pid.isdecimal():
            continue
        # The name first: most processes are others.
        if f"({name}" not in (host.read(f"/proc/{pid}/stat") or ""):
            continue
        thread = read_thread(host, int(pid), int(pid))
        if thread is not None and thread.is_kernel and thread.comm.startswith(name):
            yield thread
