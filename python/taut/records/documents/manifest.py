"""manifest.json: everything that could change a number of a run, written before its first trial."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from taut.records.documents.audit import AuditDocument
from taut.records.documents.explanation import CalibrationDocument
from taut.records.documents.json_field import LEFT_OUT, rest
from taut.records.documents.json_form import JsonObject

MANIFEST_FILE = "manifest.json"
MANIFEST_FORMAT = 1


@dataclass(frozen=True)
class Program:
    """One of taut's programs."""

    path: str
    sha256: str


@dataclass(frozen=True)
class GitState:
    """The clone taut runs from."""

    commit: str
    modified: bool
    """Whether files differ from the commit."""


@dataclass(frozen=True)
class Tool:
    """The taut that measured."""

    version: str | None = None
    git: GitState | None = None
    """None: not run from a clone."""
    binaries: Mapping[str, Program | None] = field(default_factory=dict)
    """By name of the program; None: not built."""
    command_line: tuple[str, ...] = ()
    """As it was typed, with passwords blotted out."""


@dataclass(frozen=True)
class PluginUsed:
    """A member of one of taut's tables that another package brought, as `taut plugins` has it."""

    table: str
    """The group of its entry point: `taut.devices`."""
    name: str
    package: str
    version: str


@dataclass(frozen=True)
class Python:
    """The Python that ran it."""

    version: str | None = None
    executable: str | None = None
    packages: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class DeviceNamed:
    """The part of a device of the experiment that `taut runs` shows."""

    name: str
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class ResolvedSpec:
    """A whole experiment, as experiment/model.py has it."""

    device: tuple[DeviceNamed, ...] = ()
    require: tuple[str, ...] = ()
    """What is asked of every device under every load, as `taut check` reads it."""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class SpecOfRun:
    """The experiment: as it was written, and as it was understood, with passwords blotted out.

    A run made of captures has `pairs` and `options` instead, in `others`.
    """

    name: str | None = None
    source: str | None = field(default=None, metadata=LEFT_OUT)
    text: str | None = field(default=None, metadata=LEFT_OUT)
    overrides: tuple[str, ...] | None = field(default=None, metadata=LEFT_OUT)
    hash: str | None = field(default=None, metadata=LEFT_OUT)
    resolved: ResolvedSpec | None = field(default=None, metadata=LEFT_OUT)
    """As it was understood, with the defaults of all that the file did not say."""
    others: JsonObject = field(default_factory=dict, metadata=rest())

    @property
    def device_names(self) -> list[str]:
        """Names of its devices; empty for captures."""
        return [] if self.resolved is None else [device.name for device in self.resolved.device]


@dataclass(frozen=True)
class Applied:
    """What `taut host apply`, called by hand, has changed on the machine."""

    n_in_force: int
    remedies: tuple[str, ...]


@dataclass(frozen=True)
class ThreadOfRun:
    """A thread that was watched on its core."""

    core: int
    thread: int
    start_ticks: int | None
    """Since boot, in clock ticks: tells it from a later thread of this number."""


@dataclass(frozen=True)
class ProcessOfRun:
    """The process that a trim watched."""

    pid: int
    comm: str
    command_line: str
    threads: tuple[ThreadOfRun, ...]


@dataclass(frozen=True)
class Circumstances:
    """What is noted when a run starts, and again each time it is resumed."""

    format: int = MANIFEST_FORMAT
    started_utc: str = ""
    taut: Tool = field(default_factory=Tool)
    python: Python = field(default_factory=Python)
    plugins: tuple[PluginUsed, ...] = ()
    """Those that were imported before the first trial: devices, and checks of the audit."""
    host: JsonObject = field(default_factory=dict)
    """The machine, by name of each condition that host/fingerprint.py reads."""
    seeds: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT)
    """SHA-256 by path of the files that options of devices name: rules, routes, shared objects.

    Of `command` its program, and files that it is given.

    None: not noted, or a run without devices.
    """
    placements: Mapping[str, str | None] | None = field(default=None, metadata=LEFT_OUT)
    """By name of each place but the host itself: the version of what makes it."""
    order: tuple[str, ...] | None = field(default=None, metadata=LEFT_OUT)
    """Names of all trials planned; None: captures, which have no plan."""
    warnings: tuple[str, ...] = ()
    audit: AuditDocument | None = field(default=None, metadata=LEFT_OUT)
    applied: Applied | None = None

    @property
    def is_guest(self) -> bool | None:
        """Whether the machine is a virtual one; None: it was not asked."""
        return bool(self.host["hypervisor"]) if "hypervisor" in self.host else None


@dataclass(frozen=True)
class Manifest(Circumstances):
    """manifest.json: what was asked, and on which machine and with which versions it ran."""

    spec: SpecOfRun = field(default_factory=SpecOfRun)
    resumed: tuple[Circumstances, ...] | None = field(default=None, metadata=LEFT_OUT)
    """What differed whenever it was taken up again."""
    calibration: Mapping[str, CalibrationDocument] | None = field(default=None, metadata=LEFT_OUT)
    """By trial: what interrupts cost on this machine when it ran."""
    analysed_with: tuple[PluginUsed, ...] | None = field(default=None, metadata=LEFT_OUT)
    """Plug-ins whose metrics and causes the last analysis had; None: it had none of them."""
    process: ProcessOfRun | None = field(default=None, metadata=LEFT_OUT)
    """The process that a trim by stalls watched; such a run sends no packets."""
    cores: str | None = field(default=None, metadata=LEFT_OUT)
    """The cores of that process, as a list: "2-3"."""
    others: JsonObject = field(default_factory=dict, metadata=rest())
