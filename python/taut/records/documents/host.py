"""What `taut host verify`, `cmdline` and `lint` print, and `taut doctor`."""

from dataclasses import dataclass

VERIFY_FORMAT = 1
LINT_FORMAT = 1
DOCTOR_FORMAT = 1


@dataclass(frozen=True)
class ChangeVerified:
    """A change that was applied, and what is there now."""

    remedy: str
    setting: str
    old: str | None
    wanted: str
    now: str | None
    standing: str
    note: str


@dataclass(frozen=True)
class VerifyDocument:
    """Every change that is not undone, read again."""

    complaints: tuple[str, ...]
    changes: tuple[ChangeVerified, ...]
    format: int = VERIFY_FORMAT


@dataclass(frozen=True)
class ParameterReasoned:
    """A kernel parameter and who asks for it."""

    parameter: str
    by: str
    why: str


@dataclass(frozen=True)
class CmdlineDocument:
    """The command line of the kernel that a host wants."""

    role: str
    cores: str
    profile: str
    cmdline: str
    parameters: tuple[ParameterReasoned, ...]


@dataclass(frozen=True)
class ProblemOfLine:
    """A problem of one parameter, and what to do about it."""

    kind: str
    parameter: str
    severity: str
    message: str
    remedy: str


@dataclass(frozen=True)
class LintDocument:
    """A command line, judged."""

    command_line: str
    kernel: str | None
    n_cores: int | None
    is_wrong: bool
    problems: tuple[ProblemOfLine, ...]
    format: int = LINT_FORMAT


@dataclass(frozen=True)
class CapabilityOfMachine:
    """Something this machine can or cannot do."""

    name: str
    status: str
    observed: str
    remedy: str
    is_required: bool


@dataclass(frozen=True)
class Runnable:
    """A link, a device or a neighbour, and what this machine lacks for it (None: nothing)."""

    name: str
    summary: str
    missing: str | None


@dataclass(frozen=True)
class RunAlive:
    """A run that is under way."""

    id: str
    pid: int


@dataclass(frozen=True)
class DoctorDocument:
    """What this machine can do, and what dead runs have left on it."""

    capabilities: tuple[CapabilityOfMachine, ...]
    links: tuple[Runnable, ...]
    devices: tuple[Runnable, ...]
    neighbours: tuple[Runnable, ...]
    runs_alive: tuple[RunAlive, ...]
    left_behind: tuple[str, ...]
    removed: tuple[str, ...]
    placements: tuple[Runnable, ...] = ()
    format: int = DOCTOR_FORMAT
