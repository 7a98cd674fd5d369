"""vm: the device in a virtual machine, with a Debian kernel of its own (testbed/guest).

QEMU runs it by KVM where a guest comes up by it, else by emulation. An emulated guest forwards,
counts and stalls as a real one does, but every instruction of it takes ten times as long or more:
its latencies say nothing, and whatever shows them says so.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from pydantic import Field, StrictInt

from taut.core.cpus import format_cpu_list
from taut.records.documents.trial import Guest
from taut.records.layout import GAP
from taut.testbed.guest import image, qemu
from taut.testbed.guest.judged import (
    RECOMMENDED,
    audit,
    keep_tree,
    parameters_of,
    tree_folder,
)
from taut.testbed.guest.kernel import (
    cache_folder,
    fetch_kernel,
    held_cache,
    missing_kernel,
    not_had,
    release_of,
    settle_package,
)
from taut.testbed.guest.machine import Machine, machine
from taut.testbed.guest.program import GuestChild
from taut.testbed.guest.qemu import IOMMU_PARAMETERS, KVM, NO_LATENCY, Files, Shape
from taut.testbed.guest.words import PROGRAM, translate, with_gaps_above
from taut.testbed.hugepages import count_near
from taut.testbed.placement import PlacementOptions, Tenant
from taut.testbed.program import Child, Program
from taut.testbed.scope import RunScope

_FORWARDER, _CHAIN = "taut_forward", "chain"
_LINKS = {_FORWARDER: "vhost", _CHAIN: "memif"}
"""Devices whose programs are in the image, and what leads to them: a guest's own card, or that to
the switch between guests."""
_EMULATED_GAP = "50us"
"""Each turn of a loop takes a microsecond or more in emulation: a log of them all fills the guest's
memory, two megabytes a second, while another guest boots."""


class VmOptions(PlacementOptions):
    """What the machine is like."""

    kernel: Literal["amd64", "cloud", "rt"] = Field(
        "amd64", description="Debian's kernel in the guest: amd64, cloud, or rt"
    )
    parameters: str = Field(
        RECOMMENDED,
        description="of the guest's kernel: recommended (what `taut host cmdline` says for a guest"
        " with this poll core), none, or a text of your own",
    )
    memory_mib: StrictInt = Field(512, ge=256, le=65536, description="memory of the guest")
    cpus: StrictInt = Field(2, ge=2, le=16, description="virtual CPUs; the device has the last one")
    accelerator: Literal["auto", "kvm", "tcg"] = Field(
        "auto", description="auto: KVM where a guest comes up by it, else emulation (tcg)"
    )
    trace: bool = Field(
        True,
        description="note in the guest who runs on the device's CPU, so that explain can tell its"
        " own stalls from its host's",
    )

    @property
    def gaps_most(self) -> int:
        """The log lies in the guest's memory, half of which is hugepages: it may take an eighth."""
        return (self.memory_mib << 20) // 8 // GAP.itemsize


class VmPlacement:
    """Boots a guest for each taut-forward of a trial, and runs it there."""

    name = "vm"
    summary = "in a virtual machine with a Debian kernel (QEMU: KVM, else emulation)"
    options_type: type[PlacementOptions] = VmOptions
    enter_ns = 12_000_000_000

    def refuses(self, driver: str, link: str, options: PlacementOptions) -> str | None:
        """Only taut's forwarder is in the image, alone or in a chain."""
        del options
        if driver not in _LINKS:
            return f"driver {driver} is not in the guest's image; it has {', '.join(_LINKS)}"
        if link != _LINKS[driver]:
            return f'a guest has no link {link}; say link = "{_LINKS[driver]}"'
        return None

    def missing(self, options: PlacementOptions) -> str | None:
        """QEMU, what an image is made of, or a kernel."""
        flavour = cast(VmOptions, options).kernel
        return (
            qemu.missing()
            or image.missing_tools()
            or image.missing_drivers()
            or missing_kernel(flavour, cache_folder())
        )

    def version(self, options: PlacementOptions) -> str | None:
        """QEMU's, and the kernel's flavour and release, which is fetched: another may serve."""
        flavour = cast(VmOptions, options).kernel
        package = settle_package(flavour, cache_folder())
        release = "" if package is None else f" {release_of(package)}"
        return f"QEMU {qemu.qemu_version()}, kernel {flavour}{release}"

    @contextmanager
    def entered(
        self, options: PlacementOptions, tenant: Tenant, scope: RunScope
    ) -> Iterator["Guests"]:
        """The guest is booted when the device's program is to start: its ports are known then."""
        yield Guests(cast(VmOptions, options), tenant, scope)


class Guests:
    """The place: a guest for each program that is started."""

    def __init__(self, options: VmOptions, tenant: Tenant, scope: RunScope) -> None:
        self._options = options
        self._tenant = tenant
        self._scope = scope
        self._n_started = 0
        self.notes: list[str] = []
        self.events: Path | None = None
        self.machine: Machine | None = None
        """The one that was started last; None: none was."""
        self._guest: Guest | None = None
        self._programs: list[GuestChild] = []

    @property
    def guest(self) -> Guest | None:
        """What it was, with what its program learnt until it was stopped.

        Of several, which are alike, the one started last, without a program and a clock: each has
        its own.
        """
        if self._guest is None or len(self._programs) != 1:
            return self._guest
        (only,) = self._programs
        return replace(self._guest, program=only.program, clock=only.clock)

    @contextmanager
    def started(self, program: Program) -> Iterator[Child]:
        """Boot a guest and start the program in it."""
        program.log.parent.mkdir(parents=True, exist_ok=True)
        program.log.touch()
        words = translate(program.argv, self._options.cpus)
        cores = [core for core in program.cores if core not in self._tenant.housekeeping][:1]
        rest = self._tenant.housekeeping or tuple(program.cores)
        shape, tree = self._shape(cores, rest, program.log, words.sleeps)
        if shape.accelerator != KVM:
            words = with_gaps_above(words, _EMULATED_GAP)
        files = self._files(program.log)
        is_one_of_several = self._tenant.driver == _CHAIN
        with (
            self._on_hugepages(shape) as shape,
            machine(
                *(shape, files, words.sockets, cores, rest, self._scope), has_peer=is_one_of_several
            ) as running,
        ):
            self.machine = running
            self._describe(shape, running.place_cpus(cores, rest), cores, rest)
            running.bind_ports(len(words.sockets))

            def look_at_guest() -> None:
                out = _beside(program.log, "guest-audit.json")
                with held_cache(cache_folder()):
                    keep_tree(shape, tree, running.control)
                    self.notes.append(audit(tree, shape.cpus - 1, out))

            if self._options.trace and not is_one_of_several:
                self.events = files.folder / f"{files.name}-events"
                # What the trial before fetched lies there; this one may come to fetch nothing.
                shutil.rmtree(self.events, ignore_errors=True)
            started = GuestChild(
                program.name,
                running,
                words,
                program.log,
                self.notes.append,
                look_at_guest,
                self.events,
            )
            self._programs.append(started)
            started.start()
            yield started

    def _files(self, log: Path) -> Files:
        self._n_started += 1
        console = _beside(log, "guest-console.log")
        return Files(self._scope.folder, f"vm{self._n_started}", console, log)

    def _shape(
        self, cores: Sequence[int], rest: Sequence[int], log: Path, sleeps: bool
    ) -> tuple[Shape, Path]:
        """Choose what to boot, and say where its tree is kept."""
        options, cache = self._options, cache_folder()
        with held_cache(cache):
            kernel = fetch_kernel(options.kernel, cache)
            if (why := not_had(options.kernel, cache)) is not None:
                self.notes.append(f"the guest has the newest kernel that is kept: {why}")
            base = image.base_image(kernel, cache)
            accelerator: str = options.accelerator
            if accelerator == "auto":
                accelerator = qemu.choose_accelerator(kernel, base, cache)
            plain = Shape(
                kernel,
                image.with_files(base, self._tenant.files, self._scope.folder),
                "",
                cpus=options.cpus,
                memory_mib=options.memory_mib,
                hugepages=options.memory_mib // 4,
                accelerator=accelerator,
            )

            def plain_tree() -> Path:
                tree = tree_folder(plain, base, cache)
                if not tree.exists():
                    with machine(plain, self._files(log), (), cores, rest, self._scope) as first:
                        keep_tree(plain, tree, first.control)
                return tree

            parameters = parameters_of(options.parameters, options.cpus - 1, plain_tree)
        if sleeps:
            parameters = f"{parameters} {IOMMU_PARAMETERS}".strip()
        shape = replace(plain, parameters=parameters, has_iommu=sleeps)
        return shape, tree_folder(shape, base, cache)

    @contextmanager
    def _on_hugepages(self, shape: Shape) -> Iterator[Shape]:
        """Put a guest by KVM on the host's hugepages while it lasts, where all of it has room."""
        n_pages = shape.memory_mib // 2 if shape.accelerator == KVM else 0
        with self._scope.lent_hugepages(n_pages, count_near(self._tenant.cores[0])) as n_lent:
            yield replace(shape, on_hugepages=0 < n_pages == n_lent)

    def _describe(
        self,
        shape: Shape,
        threads: Mapping[int, int],
        cores: Sequence[int],
        rest: Sequence[int],
    ) -> None:
        """Say what the guest is, and where it runs."""
        claim = None if shape.accelerator == KVM else NO_LATENCY
        self._guest = Guest(
            claim, shape.kernel.release, shape.parameters, max(threads), threads[max(threads)]
        )
        how = "by KVM" if shape.accelerator == KVM else f"by emulation ({NO_LATENCY})"
        self.notes.append(
            f"guest {how}: {shape.kernel.release}, {shape.cpus} virtual CPUs,"
            f" {shape.memory_mib} MiB; parameters: {shape.parameters or 'none'}"
        )
        own = f"CPU {max(threads)}, the device's, on core {format_cpu_list(cores)}"
        self.notes.append(f"virtual {own}; all else of QEMU on {format_cpu_list(rest)}")
        if shape.accelerator == KVM and not shape.on_hugepages:
            self.notes.append(
                f"the guest's memory is no hugepages of the host: {shape.memory_mib // 2} of 2 MB"
                " were wanted"
            )


def _beside(log: Path, name: str) -> Path:
    """Name a file as a program's log is named: that of a hop of a chain begins with the hop."""
    return log.with_name(log.name.removesuffix(f"{PROGRAM}.log") + name)
