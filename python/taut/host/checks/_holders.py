"""Who has a file open."""

from collections.abc import Callable

from taut.host.host import Host


def holders(host: Host, is_it: Callable[[str], bool]) -> list[str]:
    """Name the processes that hold such a file, as "perf (123)"; those this user may look into."""
    found = []
    for pid in sorted(int(name) for name in host.names("/proc") if name.isdecimal()):
        folder = f"/proc/{pid}/fd"
        if any(is_it(host.link_target(f"{folder}/{name}") or "") for name in host.names(folder)):
            found.append(f"{host.read(f'/proc/{pid}/comm') or '?'} ({pid})")
    return found
