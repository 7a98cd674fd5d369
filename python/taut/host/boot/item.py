"""One thing a machine does at every boot."""

from dataclasses import dataclass, field

from taut.core.cpus import CpuSet, format_cpu_list


@dataclass(frozen=True)
class KernelParameter:
    """`name` or `name=value`; with `flags` and `cores`, as `isolcpus=managed_irq,2-3`.

    The same parameter from several checks becomes one with the flags of all.
    """

    name: str
    value: str | None = None
    flags: tuple[str, ...] = ()
    cores: CpuSet = ()

    def __str__(self) -> str:
        parts = [*([self.value] if self.value is not None else []), *self.flags]
        parts += [format_cpu_list(self.cores)] if self.cores else []
        return f"{self.name}={','.join(parts)}" if parts else self.name


@dataclass(frozen=True)
class Sysctl:
    """`key` as sysctl writes it: vm.stat_interval. `form` as in settings/file.py."""

    key: str
    value: str
    form: str = field(default="text", compare=False)


@dataclass(frozen=True)
class SysfsValue:
    """A file under /sys that is written once the machine is up. `form` as in settings/file.py."""

    path: str
    value: str
    form: str = field(default="text", compare=False)


@dataclass(frozen=True)
class ModuleOption:
    """An option a kernel module is loaded with (modprobe.d)."""

    module: str
    option: str
    value: str


@dataclass(frozen=True)
class UnitState:
    """A systemd unit that starts at boot, or no longer does."""

    unit: str
    is_enabled: bool


BootItem = KernelParameter | Sysctl | SysfsValue | ModuleOption | UnitState
