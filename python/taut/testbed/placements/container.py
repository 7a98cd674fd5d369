"""container: each program of the device in a container of its own, made by an OCI runtime.

Taut asks the runtime itself (runc, crun), which Podman, Docker and Kubernetes start underneath: the
same namespaces, control group, capabilities and read-only root, and none of their daemons, storage
or networks to wait for and to leave behind.

The program is the same file as on the host, with the same libraries, on the same core: what differs
from bare is the container. Hugepages are memory without a name, which needs no mount.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal, cast

from pydantic import Field, field_validator

from taut.core.cpus import format_cpu_list
from taut.core.errors import TrialError
from taut.testbed.control_groups import group_name
from taut.testbed.guest.image import linked
from taut.testbed.links import LINKS
from taut.testbed.netlink import NETNS_FOLDER
from taut.testbed.oci_bundle import KNOWN_CAPABILITIES, Bundle, path_in
from taut.testbed.oci_runtime import (
    PATH,
    RUNTIMES,
    cannot_run,
    contained,
    find_runtime,
    version_of,
)
from taut.testbed.placement import PlacementOptions, Tenant
from taut.testbed.program import Child, Program
from taut.testbed.scope import RunScope

_TOOLS = ("setpriv", "taskset")
_LENT = Path("/run/taut-lent")
"""Where a container that has a root of its own finds the host's tools."""


class ContainerOptions(PlacementOptions):
    """What a container has besides."""

    runtime: Literal["runc", "crun"] | None = Field(
        None, description="what makes it; the first of them on PATH when left out"
    )
    root: Path | None = Field(
        None,
        description="the folder of a root file system of your own (an unpacked image), relative to"
        " the experiment's; left out: the host's programs and libraries, read-only",
    )
    mounts: tuple[Path, ...] = Field(
        (), description="what the device reads besides: files and folders, read-only at their paths"
    )
    capabilities: tuple[str, ...] | None = Field(
        None, description="instead of those that the link needs, like CAP_NET_RAW"
    )

    @field_validator("capabilities")
    @classmethod
    def _are_known(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Refuse what a runtime would leave out with no more than a warning."""
        for name in names or ():
            if name not in KNOWN_CAPABILITIES:
                raise ValueError(f"no capability {name!r}; write them as CAP_NET_RAW")
        return names

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Find root and mounts from the experiment's folder."""
        found = dict(options)
        if isinstance(root := found.get("root"), str):
            found["root"] = str((folder / root).absolute())
        if isinstance(mounts := found.get("mounts"), list | tuple):
            found["mounts"] = [str((folder / str(path)).absolute()) for path in mounts]
        return found

    def has_program(self, program: str) -> bool:
        """Only a root of one's own has other programs than the host."""
        if self.root is None:
            return False
        image = self.root.resolve()
        folders = ("/",) if "/" in program else PATH.split(":")
        found = (path_in(image, Path("/", folder, program)) for folder in folders)
        return any(path is not None and path.is_file() for path in found)


class ContainerPlacement:
    """Starts programs by an OCI runtime; needs root only for what needs root outside, too."""

    name = "container"
    summary = "each of its programs in a container of its own, made by an OCI runtime (runc, crun)"
    options_type: type[PlacementOptions] = ContainerOptions
    enter_ns = 200_000_000

    def refuses(self, driver: str, link: str, options: PlacementOptions) -> str | None:
        """It has no devices, so it cannot have a NIC's."""
        del driver, options
        takes = [kind.name for kind in LINKS.values() if kind.capabilities is not None]
        if link in takes:
            return None
        return f"a container gets no link {link}; it takes {', '.join(takes)}"

    def missing(self, options: PlacementOptions) -> str | None:
        """A runtime, user namespaces where taut is not root, or what the options name."""
        asked = cast(ContainerOptions, options)
        runtime = find_runtime(asked.runtime)
        if runtime is None:
            wanted = asked.runtime or " or ".join(RUNTIMES)
            return f"no {wanted} on PATH; install the package {asked.runtime or RUNTIMES[0]}"
        if os.geteuid() != 0 and not _has_user_namespaces():
            return (
                "without root it needs user namespaces, which this kernel has switched off; run as "
                "root, or sysctl user.max_user_namespaces=100"
            )
        for path in (*([] if asked.root is None else [asked.root]), *asked.mounts):
            if not path.exists():
                return f"{path}: no such file or folder; correct root and mounts of its options"
        if asked.root is not None and not asked.root.is_dir():
            return f"{asked.root}: no folder; unpack the image there"
        return cannot_run(runtime)

    def version(self, options: PlacementOptions) -> str | None:
        """The runtime's own words: `runc version 1.1.5`."""
        runtime = find_runtime(cast(ContainerOptions, options).runtime)
        return None if runtime is None else version_of(runtime)

    @contextmanager
    def entered(
        self, options: PlacementOptions, tenant: Tenant, scope: RunScope
    ) -> Iterator["Containers"]:
        """Nothing is made before a program is started."""
        yield Containers(cast(ContainerOptions, options), tenant, scope)


class Containers:
    """The place: a container for each program that is started."""

    guest = None
    events = None

    def __init__(self, options: ContainerOptions, tenant: Tenant, scope: RunScope) -> None:
        self._options = options
        self._tenant = tenant
        self._scope = scope
        self._n_started = 0
        self._runtime = str(find_runtime(options.runtime))
        own = options.capabilities
        self._capabilities = (LINKS[tenant.link].capabilities or ()) if own is None else own
        self.notes = [*self._describe()]

    @contextmanager
    def started(self, program: Program) -> Iterator[Child]:
        """Run it in a container on its cores."""
        self._n_started += 1
        name = group_name(self._scope.id, f"c{self._n_started}")
        bundle = self._bundle(program, name)
        with contained(program, bundle, self._runtime, name, self._scope) as started:
            yield started

    def _bundle(self, program: Program, name: str) -> Bundle:
        tenant = self._tenant
        is_root = os.geteuid() == 0
        cores = sorted({*program.cores, *tenant.housekeeping})
        root = self._options.root
        read = [*self._options.mounts, *(path for path in tenant.files if path.exists())]
        argv = list(program.argv)
        if not self._options.has_program(argv[0]):
            path, is_own = _located(argv[0])
            if is_own:
                read.append(path.parent)
                argv[0] = str(path)
            elif root is not None:
                raise TrialError(
                    f"{program.name}: its container did not start: no {argv[0]} in {root}, the "
                    "root of its options; install it there"
                )
        return Bundle(
            argv=[*_wrapping(program, root), *argv],
            environment={"PATH": PATH, **program.environment, **self._scope.environment},
            root=root,
            read=read,
            written=[self._scope.folder, tenant.log_dir],
            capabilities=self._capabilities,
            netns=None if program.netns is None else NETNS_FOLDER / program.netns,
            cgroup=f"/{name}" if is_root else None,
            cpus=format_cpu_list(cores),
            lent={} if root is None else _lent(*_TOOLS),
        )

    def _describe(self) -> Iterator[str]:
        rights = ", ".join(self._capabilities) or "none"
        yield f"container by {version_of(self._runtime)}; capabilities: {rights}"
        own, house = map(format_cpu_list, (self._tenant.cores, self._tenant.housekeeping))
        if os.geteuid() == 0:
            beside = f" and {house}, taut's own, where logs are written" if house else ""
            yield f"cpuset: the device's {own}{beside}"
        else:
            yield (
                "rootless: no control group of its own, so its cores are an affinity, which it may "
                "change; root gives it a cpuset"
            )


def _wrapping(program: Program, root: Path | None) -> list[str]:
    """Give the words before the command line.

    The death signal ends it with the runtime, which ends with taut. The affinity is as on the host:
    the writer of a log has the housekeeping core, the rest of a program its own.
    """
    words = [*_words_of("setpriv", root), "--pdeathsig", "KILL", "--"]
    if program.cores:
        words += [*_words_of("taskset", root), "--cpu-list", format_cpu_list(program.cores)]
    # It has the program load a library, which must be of the program's own world.
    if program.line_buffered and Path("/", root or "", "usr/bin/stdbuf").exists():
        words += ["/usr/bin/stdbuf", "--output=L"]
    return words


def _words_of(tool: str, root: Path | None) -> list[str]:
    """Give the words that start one of the host's tools, by its loader where it is lent one.

    An image need not have these tools, nor the C library that they are linked with.
    """
    if root is None:
        return [shutil.which(tool) or tool]
    own = [where for where in _lent(tool) if where.name.startswith("ld")]
    by_loader = [word for where in own for word in (str(where), "--library-path", str(_LENT))]
    return [*by_loader, str(_LENT / tool)]


@cache
def _lent(*tools: str) -> dict[Path, Path]:
    """Give the host's tools, their libraries and their loader, by where a container has them."""
    programs = [Path(shutil.which(tool) or tool) for tool in tools]
    return {_LENT / path.name: path.resolve() for path in (*programs, *linked(programs))}


def _located(program: str) -> tuple[Path, bool]:
    """Give a program's path on the host, and whether it lies outside of what containers have."""
    path = Path(shutil.which(program) or program).resolve()
    return path, path.is_file() and not path.is_relative_to("/usr")


def _has_user_namespaces() -> bool:
    files = ("/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone")
    return all(Path(file).read_text().strip() != "0" for file in files if Path(file).exists())
