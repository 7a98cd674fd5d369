"""A writer that also does to a tree what ethtool, swapon and swapoff would do."""

from collections.abc import Sequence
from dataclasses import dataclass

from host_tree import TreeWriter, put

_SHOWS = {"-L": "-l", "-C": "-c", "--set-eee": "--show-eee"}


@dataclass(frozen=True)
class CommandWriter(TreeWriter):
    """What they show changes with what they set."""

    def command(self, argv: Sequence[str], timeout_s: float | None = None) -> None:
        super().command(argv, timeout_s)
        if argv[0] == "ethtool":
            self._ethtool(*argv[1:])
        elif argv[0] in ("swapon", "swapoff"):
            self._swap(argv)

    def _ethtool(self, way: str, interface: str, option: str, value: str) -> None:
        path = f"/commands/ethtool {_SHOWS[way]} {interface}"
        text = self.host.read_exactly(path) or ""
        if way == "-L":
            head, mark, tail = text.partition("Current hardware settings:")
            was = next(line for line in tail.splitlines() if line.startswith("Combined:"))
            put(self.host.root, path, head + mark + tail.replace(was, f"Combined:\t{value}"))
            self._queues(interface, int(value))
            return
        old, new = {
            "adaptive-rx": ("Adaptive RX: ", value),
            "rx-usecs": ("rx-usecs: ", value),
            "eee": ("EEE status: ", {"on": "enabled - active", "off": "disabled"}.get(value, "")),
        }[option]
        shown = []
        for line in text.splitlines():
            before, is_it, _ = line.partition(old)
            _, mark, after = line.partition("  TX:")  # on the same line as Adaptive RX
            shown.append(f"{before}{old}{new}{mark}{after}" if is_it else line)
        put(self.host.root, path, "\n".join(shown) + "\n")

    def _queues(self, interface: str, n_queues: int) -> None:
        folder = self.host.root / f"sys/class/net/{interface}/queues"
        for queue in folder.glob("rx-*"):
            if int(queue.name.removeprefix("rx-")) >= n_queues:
                (queue / "rps_cpus").unlink()
                queue.rmdir()
        for number in range(n_queues):
            put(self.host.root, f"/sys/class/net/{interface}/queues/rx-{number}/rps_cpus", "0\n")

    def _swap(self, argv: Sequence[str]) -> None:
        lines = (self.host.read_exactly("/proc/swaps") or "").splitlines()
        if argv[0] == "swapoff":
            lines = [line for line in lines if not line.startswith(f"{argv[-1]} ")]
        else:
            lines.append(f"{argv[-1]} partition 1000 0 -2")
        put(self.host.root, "/proc/swaps", "\n".join(lines) + "\n")
