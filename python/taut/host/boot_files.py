"""The boot configuration of one host: which forms of it the host reads, and the files of each."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from taut.core.errors import InputError
from taut.host.boot.artefacts import FORMS, artefacts
from taut.host.boot.bls import PATH as KERNEL_INSTALL
from taut.host.boot.choose import choose_hold_us, choose_wishes
from taut.host.boot.context import BootContext
from taut.host.boot.entries import ENTRIES
from taut.host.boot.grub import PATH as GRUB_DROP_IN
from taut.host.boot.others import at_next_boot, lists_of_others
from taut.host.boot.tuned import PATHS as TUNED
from taut.host.boot.tuned import PROFILE, command_back, profiles_besides
from taut.host.check import Profile
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.placed_file import PlacedFile
from taut.host.situation import Situation
from taut.host.table import Check

# What shows that GRUB's drop-ins are read: Debian's and Ubuntu's GRUB does, others' does not.
_DROP_INS = ("/etc/default/grub.d", "/usr/sbin/update-grub", "/usr/bin/update-grub")
# What systemd-boot leaves: its name as an EFI variable, and where its initrd was on the partition.
_LOADER = "/sys/firmware/efi/efivars/LoaderInfo-*"
_N_ATTRIBUTES = 4  # Bytes before the text, which is UTF-16.
_BY_EFI = "initrd=\\"
_PROXMOX = "/etc/kernel/proxmox-boot-uuids"
"""The EFI partitions that Proxmox's tool keeps: it makes their entries from /etc/kernel/cmdline."""


def boot_files(
    host: Host,
    situation: Situation,
    profile: Profile,
    *,
    checks: Sequence[Check],
    program: str,
    forms: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Mapping[str, Mapping[str, str]]:
    """Give, by form, the text of each path; without `forms`, of those that this host reads."""
    situation = at_next_boot(host, situation)
    wishes = choose_wishes(checks, host, situation, profile, only)
    hold_us = choose_hold_us(checks, host, situation, profile, only)
    context = read_context(host, situation, profile, program, hold_us)
    context = replace(context, only=tuple(only or ()))
    chosen = forms or forms_here(host)
    return {form: artefacts(form, wishes, context) for form in chosen}


def read_context(
    host: Host, situation: Situation, profile: Profile, program: str, hold_us: int | None
) -> BootContext:
    """Read what the forms ask of a host."""
    entries = [path for pattern in ENTRIES for path in host.paths(pattern)]
    return BootContext(
        role=situation.role,
        online=situation.online,
        cores=situation.cores,
        apart=situation.apart,
        others=lists_of_others(host),
        waiting=situation.waiting,
        profile=profile.name.lower(),
        program=program,
        hold_us=hold_us,
        cmdline=host.read("/etc/kernel/cmdline") or host.read("/proc/cmdline") or "",
        entries={path: host.read_exactly(path) or "" for path in entries},
        tuned_folder="/etc/tuned/profiles"
        if host.is_there("/etc/tuned/profiles")
        else "/etc/tuned",
        tuned_profiles=profiles_besides(host),
    )


def forms_here(host: Host) -> list[str]:
    """Name the forms this host reads at boot: at most one for the command line, and systemd's.

    The texts for a guest are for its host.
    """
    found = ["systemd"] if host.is_there("/run/systemd/system") else []
    has_entries = any(host.paths(pattern) for pattern in ENTRIES)
    if _is_past_grub(host):
        return ["bls", *found] if has_entries or host.is_there(_PROXMOX) else found
    if host.is_there("/etc/default/grub") and any(host.is_there(path) for path in _DROP_INS):
        return ["grub", *found]
    return ["bls", *found] if has_entries else found


def _is_past_grub(host: Host) -> bool:
    """Whether systemd-boot, or the firmware itself, started this kernel; GRUB may be there, too."""
    for path in host.paths(_LOADER):
        name = (host.read_bytes(path) or b"")[_N_ATTRIBUTES:].decode("utf-16-le", "replace")
        if name.startswith("systemd-boot"):
            return True
    return any(word.startswith(_BY_EFI) for word in (host.read("/proc/cmdline") or "").split())


def takes_parameters(forms: Collection[str]) -> bool:
    """Whether one of these forms gives the kernel its command line."""
    return not {"grub", "bls", "tuned"}.isdisjoint(forms)


def in_force_after(
    host: Host, paths: Collection[str], profiles: Sequence[str] | None = None
) -> str:
    """Say what it takes until boot configuration that was put there, or taken back, counts.

    `profiles`: it was taken back, and tuned had these besides taut's; None: it was put there.
    """
    first = ["update-grub"] if GRUB_DROP_IN in paths else []
    if not {GRUB_DROP_IN, KERNEL_INSTALL}.isdisjoint(paths) and host.is_there(_PROXMOX):
        first.append("proxmox-boot-tool refresh")
    at_once = ""
    if not set(TUNED).isdisjoint(paths):
        first.append(f"tuned-adm profile {PROFILE}" if profiles is None else command_back(profiles))
        at_once = ", by which all but the command line and options of modules changes at once"
    return f"after a reboot; {' and '.join(first)} first{at_once}" if first else "after a reboot"


def placements(files: Mapping[str, Mapping[str, str]]) -> list[Change]:
    """Give the changes that put them in place; InputError: two forms want one file."""
    seen: dict[str, str] = {}
    for form, texts in files.items():
        if form == "guest":
            raise InputError("boot form guest is for the host of a guest: write it with plan --out")
        for path, text in texts.items():
            if seen.setdefault(path, text) != text:
                raise InputError(f"boot forms {', '.join(files)} both write {path}; choose one")
    return [Change(PlacedFile(path), text) for path, text in seen.items()]


def check_forms(forms: Collection[str], *, boot: bool) -> None:
    """Refuse a form there is not, or any without --boot, before anything is written."""
    if forms and not boot:
        raise InputError("--form: of boot configuration; add --boot")
    for form in forms:
        if form not in FORMS:
            raise InputError(f"no boot form {form!r}; there are {', '.join(FORMS)}")
