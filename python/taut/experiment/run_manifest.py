"""The manifest of a run: written before its first trial, added to when it is resumed."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from taut.core.binaries import sha256_of
from taut.core.version import is_of_device_alone, taut_version
from taut.experiment.cores import Cores
from taut.experiment.model import Spec
from taut.experiment.placed import describe_place
from taut.experiment.plan import Plan, on_hosts_programs
from taut.experiment.spec import spec_hash
from taut.experiment.stored import version_of
from taut.host.audit import as_document, find_situation, run_audit
from taut.host.fingerprint import fingerprint
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.host.state import describe_applied
from taut.records.documents.audit import AuditDocument
from taut.records.documents.json_form import parse
from taut.records.documents.manifest import (
    Circumstances,
    Manifest,
    Program,
    ResolvedSpec,
    SpecOfRun,
)
from taut.records.manifest import make_manifest, write_manifest
from taut.records.rundir import RunDirectory


@dataclass(frozen=True)
class Origin:
    """Where a plan came from, for the manifest."""

    text: str = ""
    source: str = ""
    overrides: Sequence[str] = ()
    command_line: Sequence[str] = ()


NO_ORIGIN = Origin()
"""The origin of a plan that a program made, not a file."""


def describe_run(
    run: RunDirectory,
    plan: Plan,
    origin: Origin,
    host: Host,
    cores: Cores,
    warnings: Sequence[str],
    order: Sequence[str],
) -> list[str]:
    """Write manifest.json of a run that is about to measure; give further warnings, in it too.

    A resumed run keeps the first one, with what is required now, and appends what differs.
    """
    document = make_manifest(
        host=fingerprint(host, _pci_addresses(plan)),
        spec=SpecOfRun(
            name=plan.spec.name,
            source=origin.source,
            text=origin.text,
            overrides=tuple(origin.overrides),
            hash=spec_hash(plan.spec),
            resolved=parse(ResolvedSpec, plan.spec.model_dump(mode="json", by_alias=True), "spec"),
        ),
        # Each trial.json holds its own, derived from this one.
        seeds={"experiment": plan.spec.seed},
        command_line=origin.command_line,
    )
    document = replace(
        document,
        inputs={**hash_programs(plan), **hash_inputs(plan.spec)},
        placements=_versions_of_places(plan) or None,
        order=tuple(order),
        audit=_audit(host, cores, plan),
        applied=describe_applied(host),
    )
    first = run.manifest_or_none()
    changed = []
    if first is not None:
        changed = [*_changed(first, document), *_upgraded(run, plan), *_moved(run, cores)]
    document = replace(document, warnings=(*warnings, *changed))
    write_manifest(run.path, document if first is None else _resumed(first, document))
    return changed


def _changed(first: Manifest, now: Manifest) -> list[str]:
    """Say what of the machine is not as it was when this run measured last."""
    before, here = (_machine(one) for one in ((first.resumed or (first,))[-1], now))
    return [
        f"resumed: {name} {here[name]}, before {was}: this run has trials of both"
        for name, was in before.items()
        if here.get(name, was) != was
    ]


def _upgraded(run: RunDirectory, plan: Plan) -> Iterator[str]:
    """Say which device has another version of its own than in its last trial."""
    measured = {one.name: one.meta.dut for one in run.trials() if one.is_whole}
    was = {dut.name: dut.version for dut in measured.values()}
    left = (trial.device for trial in plan.trials if trial.name not in measured)
    for device in {device.name: device for device in left}.values():
        here, before = version_of(device), was.get(device.name)
        are_own = all(is_of_device_alone(version, taut_version()) for version in (here, before))
        if are_own and here != before:
            yield (
                f"resumed: device {device.name}: {here}, before {before}: "
                "this run has trials of both"
            )


def _moved(run: RunDirectory, cores: Cores) -> Iterator[str]:
    """Say which role has another core than in the last trial: others may have had it, or have."""
    measured = [one.meta.cores for one in run.trials() if one.is_whole and one.meta.cores]
    for role in ("generator", "device", "writer", "runner") if measured else ():
        here, was = getattr(cores, role), getattr(measured[-1], role)
        if was not in (None, here):
            yield f"resumed: {role} core {here}, before {was}: this run has trials of both"


def _machine(of: Circumstances) -> dict[str, str]:
    """Give what makes trials comparable, by name; what was not noted is left out."""
    cpu, cores = (of.host.get(name) for name in ("cpu", "cores"))
    commit = of.taut.git.commit[:8] if of.taut.git is not None else ""
    found = {"kernel": of.host.get("kernel"), "taut": f"{of.taut.version} {commit}".strip()}
    if isinstance(cpu, Mapping):
        found["processor"] = cpu.get("model")
    if isinstance(cores, Mapping):
        found |= {f"{name} cores": cores.get(name) for name in ("online", "isolated")}
    if "cmdline" in of.host:
        found["kernel command line"] = of.host["cmdline"]
    if of.taut.binaries:
        found["taut's programs (SHA-256)"] = _digest(of.taut.binaries)
    found["by `taut host apply`"] = ", ".join(of.applied.remedies) if of.applied else "nothing"
    found |= {f"placement {name}:": version for name, version in (of.placements or {}).items()}
    # Files that devices are told are the same: others are refused.
    found |= {f"{path} (SHA-256)": digest[:8] for path, digest in (of.inputs or {}).items()}
    return {name: str(value) for name, value in found.items()}


def _digest(programs: Mapping[str, Program | None]) -> str:
    """Give one hash of all programs: another build is another taut, whatever its version."""
    hashes = (f"{name} {program and program.sha256}\n" for name, program in programs.items())
    return hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()[:8]


def _resumed(first: Manifest, now: Manifest) -> Manifest:
    """Keep the first one, with the circumstances and warnings of now added.

    What is required changes nothing that was measured: the newest counts.
    """
    names = (field.name for field in fields(Circumstances))
    again = Circumstances(**{name: getattr(now, name) for name in names})
    added = [warning for warning in now.warnings if warning not in first.warnings]
    spec = first.spec
    if spec.resolved is not None and now.spec.resolved is not None:
        spec = replace(spec, resolved=replace(spec.resolved, require=now.spec.resolved.require))
    return replace(
        first,
        spec=spec,
        resumed=(*(first.resumed or ()), again),
        warnings=(*first.warnings, *added),
    )


def hash_inputs(spec: Spec) -> dict[str, str]:
    """Hash the files that devices are told, by path; a device says itself of one it cannot read."""
    return {str(path): sha256_of(path) for path in files_of(spec) if path.is_file()}


def files_of(spec: Spec) -> list[Path]:
    """Give the files that devices are told, whether they are there or not."""
    return sorted({path for device in spec.device for path in device.driver_options.files})


def hash_programs(plan: Plan) -> dict[str, str]:
    """Hash the user's own programs, and what they are given, where the host's are measured."""
    options = (device.driver_options for device in on_hosts_programs(plan))
    return {str(path): sha256_of(path) for one in options for path in one.programs}


def waiting_of(spec: Spec) -> frozenset[Waiting]:
    """Say what the devices of an experiment do while nothing comes: poll, sleep, or both."""
    return frozenset(device.dut.waits(device.driver_options) for device in spec.device)


def _audit(host: Host, cores: Cores, plan: Plan) -> AuditDocument:
    """Audit the host for the cores of this run, without watching counters."""
    situation = find_situation(host, waiting=waiting_of(plan.spec))
    return as_document(run_audit(host, replace(situation, cores=cores.measured)))


def _versions_of_places(plan: Plan) -> dict[str, str | None]:
    places = {trial.place.name: trial.place for trial in plan.trials}
    placed = ((name, describe_place(place)) for name, place in places.items())
    return {name: found.version for name, found in placed if found is not None}


def _pci_addresses(plan: Plan) -> list[str]:
    """Give the cards of a run that uses some: nobody looks at a table for others."""
    if all(trial.device.link != "pci" for trial in plan.trials):
        return []
    wired = plan.spec.links.get("pci", {})
    return [str(address) for side in wired.values() for address in side]
