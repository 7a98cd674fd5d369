"""A folder that looks like a machine, and a writer that does to it what the kernel would do.

For tests of checks and of what is applied: nothing of the real machine is read or written.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import IO

from taut.core.cpus import CpuSet, format_cpu_list, parse_cpu_list, parse_cpu_mask
from taut.host.check import Finding, Remedy, State
from taut.host.host import Host
from taut.host.machine import Machine
from taut.host.situation import Role, Situation, Waiting
from taut.host.table import Check
from taut.host.writer import Writer

BARE_METAL = Machine(
    vendor="intel",
    family=6,
    model=106,
    flags=frozenset({"constant_tsc", "nonstop_tsc", "tsc_deadline_timer", "tsc_known_freq"}),
    kernel=(6, 12),
    is_realtime=False,
    hypervisor=None,
    container=None,
)
HOLDER = 4711
"""Process that holds a latency."""
# Of version 2, and of version 1.
_RESCTRL = "/sys/fs/resctrl"
_CGROUP_FILES: tuple[dict[str, str], dict[str, str]] = (
    {"cgroup.procs": "", "cpuset.cpus": "\n", "cpuset.cpus.partition": "member\n"},
    {
        "cgroup.procs": "",
        "cpuset.cpus": "\n",
        "cpuset.mems": "\n",
        "cpuset.sched_load_balance": "1\n",
    },
)
POLL = Situation(Role.POLL_CORE, BARE_METAL, online=(0, 1, 2, 3), cores=(2, 3))
"""Four cores of which the last two poll."""
SLEEP = replace(POLL, waiting=frozenset({Waiting.SLEEPS}))
"""On the last two a device sleeps until a packet wakes it."""


@dataclass(frozen=True)
class TreeWriter(Writer):
    """Answers a write as the kernel does. `refusals`: paths or program names, and the errno."""

    refusals: Mapping[str, int] = field(default_factory=dict)

    def make_folder(self, path: str) -> None:
        """A control group is born with files in it."""
        self._refuse(path)
        super().make_folder(path)
        if path.startswith("/sys/fs/cgroup/"):
            for name, text in _CGROUP_FILES[path.startswith("/sys/fs/cgroup/cpuset/")].items():
                put(self.host.root, f"{path}/{name}", text)
        if path.startswith(f"{_RESCTRL}/"):
            put(self.host.root, f"{path}/cpus_list", "\n")
            everything = self.host.read_exactly(f"{_RESCTRL}/schemata") or ""
            put(self.host.root, f"{path}/schemata", everything)

    def remove_folder(self, path: str) -> None:
        """The files of a control group do not keep it."""
        self._refuse(path)
        if path.startswith(f"{_RESCTRL}/"):
            self._regroup(self.host.cores(f"{path}/cpus_list"), ())
        if path.startswith(("/sys/fs/cgroup/", f"{_RESCTRL}/")):
            for file in self._at(path).iterdir():
                file.unlink()
        super().remove_folder(path)

    def start_process(self, argv: Sequence[str]) -> IO[bytes]:
        """Only holders are started: one registers at once."""
        self._refuse("start")
        put(self.host.root, f"/proc/{HOLDER}/stat", f"{HOLDER} (taut) S {'1 ' * 18}77 0 0\n")
        microseconds = argv[argv.index("--latency") + 1]
        put(self.host.root, "/run/taut-host/cpu_dma_latency", f"{HOLDER} 77 {microseconds}\n")
        return BytesIO()

    def end_process(self, process: int) -> None:
        """It goes, and what it registered."""
        self._at(f"/proc/{process}/stat").unlink()
        self._at("/run/taut-host/cpu_dma_latency").unlink()

    def write_file(self, path: str, text: str) -> None:
        """Keep the form the file has: brackets of a choice, leading zeros of a mask."""
        self._refuse(path)
        before = self.host.read_exactly(path)
        if path.endswith("/cgroup.subtree_control"):
            text = _controllers(before or "", text)
        if path.startswith(_RESCTRL) and path.endswith("/schemata"):
            text = _schemata(before or "", text)
        super()._write(path, "", 0o1001)  # O_WRONLY | O_TRUNC
        super().write_file(path, _in_form(before or "", text))
        if path.startswith(f"{_RESCTRL}/") and path.endswith("/cpus_list"):
            self._regroup((), parse_cpu_list(text))
        self._also(path, text)

    def set_affinity(self, thread: int, cores: CpuSet) -> None:
        """Show it in status."""
        self._refuse(f"affinity {thread}")
        path = f"/proc/{thread}/status"
        lines = (self.host.read_exactly(path) or "").splitlines()
        shown = [
            f"Cpus_allowed_list:\t{format_cpu_list(cores)}"
            if line.startswith("Cpus_allowed_list:")
            else line
            for line in lines
        ]
        self._at(path).write_text("\n".join(shown) + "\n")

    def set_scheduler(self, thread: int, policy: int, priority: int) -> None:
        """Show it in stat."""
        path = f"/proc/{thread}/stat"
        head, _, tail = (self.host.read_exactly(path) or "").rpartition(")")
        fields = tail.split()
        fields[37], fields[38] = str(priority), str(policy)
        self._at(path).write_text(f"{head}) {' '.join(fields)}\n")

    def command(
        self,
        argv: Sequence[str],
        timeout_s: float | None = None,  # noqa: ARG002 - as in Writer
    ) -> None:
        """Remember what a unit does; other programs are in `refusals` or have no effect."""
        self._refuse(argv[0])
        if argv[0] == "systemctl" and argv[1] in ("start", "stop"):
            state = "active" if argv[1] == "start" else "inactive"
            put(self.host.root, f"/commands/systemctl is-active {argv[2]}", f"{state}\n")

    def _refuse(self, name: str) -> None:
        if name in self.refusals:
            raise OSError(self.refusals[name], name)

    def _also(self, path: str, text: str) -> None:
        """An interrupt's mask shows in four files."""
        folder, _, name = path.rpartition("/")
        if not folder.startswith("/proc/irq/") or "smp_affinity" not in name:
            return
        cores = parse_cpu_list(text) if name.endswith("_list") else parse_cpu_mask(text)
        for other in ("smp_affinity", "smp_affinity_list"):
            self._show(f"{folder}/{other}", cores)
        # The kernel leaves an interrupt where it is while its mask has that core.
        serving = self.host.cores(f"{folder}/effective_affinity_list")
        stays = len(serving) == 1 and serving[0] in cores
        for other in ("effective_affinity", "effective_affinity_list"):
            self._show(f"{folder}/{other}", serving if stays else cores[:1])

    def _regroup(self, back: CpuSet, away: CpuSet) -> None:
        """A core is in one group of resctrl alone; without one of its own, in the default one."""
        rest = f"{_RESCTRL}/cpus_list"
        left = {*self.host.cores(rest), *back} - {*away}
        self._at(rest).write_text(f"{format_cpu_list(left)}\n")

    def _show(self, path: str, cores: CpuSet) -> None:
        before = self.host.read_exactly(path)
        if before is not None:
            mask = f"{sum(1 << core for core in cores):x}"
            text = format_cpu_list(cores) if path.endswith("_list") else mask
            self._at(path).write_text(_in_form(before, f"{text}\n"))


class Link(str):
    """What a symbolic link points to, where a tree has one."""

    __slots__ = ()


def put(root: Path, path: str, text: str) -> None:
    """Write one file of a tree."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(text, Link):
        file.unlink(missing_ok=True)
        file.symlink_to(text)
    else:
        file.write_text(text, errors="surrogateescape")


def tree(root: Path, files: Mapping[str, str]) -> Host:
    """Make a tree of files."""
    for path, text in files.items():
        put(root, path, text)
    return Host(root)


def snapshot(root: Path) -> dict[str, bytes]:
    """Give every file of a tree."""
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def judge(
    check: Check, root: Path, files: Mapping[str, str], situation: Situation = POLL
) -> Finding:
    """Give what a check says of a tree; every finding says what it observed."""
    finding = check.inspect(tree(root, files), situation)
    assert finding.observed
    assert finding.state is not State.UNKNOWN or finding.needs
    assert finding.state is not State.FAIL or finding.wanted
    return finding


@contextmanager
def remedied(
    check: Check, root: Path, situation: Situation = POLL, writer: Writer | None = None
) -> Iterator[list[Remedy]]:
    """Apply what a check proposes for now, see that it passes, undo, see all as it was."""
    host = Host(root)
    hand = writer or TreeWriter(host)
    before = snapshot(root)
    assert check.inspect(host, situation).state is State.FAIL

    remedies = list(check.propose(host, situation))
    changes = [change for remedy in remedies for change in remedy.changes]
    olds = [(change.setting, change.setting.read(host)) for change in changes]
    for change in changes:
        change.setting.write(hand, change.wanted)
        assert change.setting.agrees(change.setting.read(host), change.wanted), change
    assert check.inspect(host, situation).state is State.PASS
    yield remedies

    for setting, old in reversed(olds):
        setting.write(hand, old)
    assert snapshot(root) == before


def _schemata(before: str, line: str) -> str:
    """Put values of one resource into those there are, padded as the kernel shows them."""
    resource, _, values = line.strip().partition(":")
    new = dict(value.split("=") for value in values.split(";"))
    lines = []
    for shown in before.splitlines():
        name, _, old = shown.strip().partition(":")
        merged = dict(value.split("=") for value in old.split(";")) | (
            new if name == resource else {}
        )
        lines.append(f"{name:>6}:" + ";".join(f"{at}={value}" for at, value in merged.items()))
    return "\n".join(lines) + "\n"


def _controllers(before: str, text: str) -> str:
    """Give cgroup.subtree_control after `+cpuset` or `-cpuset`."""
    words = [word for word in before.split() if word != text.strip()[1:]]
    return " ".join([*words, *([text.strip()[1:]] if text.startswith("+") else [])]) + "\n"


def _in_form(before: str, text: str) -> str:
    """Give what a file shows after `text` was written to it."""
    old, new = before.strip(), text.strip()
    if "[" in old and "]" in old:
        words = old.replace("[", "").replace("]", "").split()
        return " ".join(f"[{word}]" if word == new else word for word in words) + "\n"
    is_mask = len(old) > 1 and all(digit in "0123456789abcdef," for digit in old)
    if is_mask and (old.startswith("0") or "," in old) and "x" not in new:
        width = len(old.replace(",", ""))
        digits = new.replace(",", "").zfill(width)
        first = width % 8 or 8
        groups = [digits[:first], *(digits[i : i + 8] for i in range(first, width, 8))]
        return ",".join(groups) + "\n"
    return text
