"""Network interfaces that a kernel driver runs."""

from taut.host.host import Host
from taut.host.situation import Situation

NET = "/sys/class/net"


def physical(host: Host) -> list[str]:
    """Interfaces with a device below them, as opposed to bridges and tunnels."""
    return [name for name in host.names(NET) if host.is_there(f"{NET}/{name}/device")]


def carrying(host: Host, situation: Situation) -> list[str]:
    """Interfaces that carry the traffic, as far as the kernel runs them; all where nobody said."""
    if situation.interfaces:
        return [name for name in situation.interfaces if host.is_there(f"{NET}/{name}")]
    return physical(host)


def n_receive_queues(host: Host, interface: str) -> int:
    """How many queues the kernel receives from."""
    return sum(name.startswith("rx-") for name in host.names(f"{NET}/{interface}/queues"))


def interrupts_of(host: Host, interface: str) -> set[int]:
    """Give the numbers of its message-signalled interrupts; of a virtio one, those below it."""
    device = f"{NET}/{interface}/device"
    names = [
        name for folder in (device, f"{device}/..") for name in host.names(f"{folder}/msi_irqs")
    ]
    return {int(name) for name in names if name.isdecimal()}
