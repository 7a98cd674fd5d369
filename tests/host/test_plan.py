import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from guest_tree import PID, guest
from host_tree import POLL, snapshot, tree
from taut.core.errors import InputError, TautError
from taut.host.audit import find_situation, run_audit
from taut.host.boot.item import Sysctl
from taut.host.check import (
    Finding,
    Profile,
    Remedy,
    Rollback,
    Severity,
    failed,
    passed,
)
from taut.host.checks import CHECKS
from taut.host.host import Host
from taut.host.plan import Choice, Plan, make_plan
from taut.host.plan_document import as_document
from taut.host.setting import Change
from taut.host.settings import CpusetPartition, FileSetting
from taut.host.situation import Role, Situation
from taut.records.documents.json_form import plain

STAT_INTERVAL = FileSetting("/proc/sys/vm/stat_interval", "number")
SWAPPINESS = FileSetting("/proc/sys/vm/swappiness", "number")
MASK = FileSetting("/proc/irq/24/smp_affinity", "mask")
FILES = {
    "/sys/devices/system/cpu/online": "0-3\n",
    STAT_INTERVAL.path: "1\n",
    SWAPPINESS.path: "60\n",
    MASK.path: "f\n",
}


@dataclass(frozen=True)
class Fake:
    """A check that fails, with the remedies it is given."""

    id: str
    given: Sequence[Remedy] = ()
    is_good: bool = False
    title: str = "title"
    severity: Severity = Severity.MAJOR
    why: str = "it matters"
    source: str = "us"
    watches: Sequence[str] = ()
    traces: Sequence[str] = ()

    def inspect(self, host: Host, situation: Situation) -> Finding:
        return passed("good") if self.is_good else failed("bad", "good")

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        return self.given


def remedy(name: str, *changes: Change, **fields: object) -> Remedy:
    return replace(Remedy(name, f"do {name}", changes=changes), **fields)


def plan(root: Path, *checks: Fake, situation: Situation = POLL, **options: object) -> Plan:
    host = tree(root, FILES)
    audit = run_audit(host, situation, checks=checks)
    profile = options.get("profile", Profile.RECOMMENDED)
    only = options.get("only")
    assert isinstance(profile, Profile)
    assert only is None or isinstance(only, list)
    return make_plan(host, audit, profile, only)


INTERVAL = remedy("R06-now", Change(STAT_INTERVAL, "120"), cost="old figures")


def test_a_plan_says_what_would_change_and_writes_nothing(tmp_path: Path) -> None:
    found = plan(tmp_path, Fake("R06", [INTERVAL]))
    before = snapshot(tmp_path)

    (step,) = found.steps
    assert step.choice is Choice.TAKE
    assert "it matters" in step.reason
    assert [(due.old, due.change.wanted) for due in step.due] == [("1\n", "120")]
    assert snapshot(tmp_path) == before


def test_what_is_in_force_is_skipped(tmp_path: Path) -> None:
    half = remedy("X01-now", Change(STAT_INTERVAL, "1"), Change(SWAPPINESS, "10"))
    whole = remedy("X02-now", Change(STAT_INTERVAL, "1"))

    found = plan(tmp_path, Fake("X01", [half]), Fake("X02", [whole]))

    assert [due.change.setting for due in found.steps[0].due] == [SWAPPINESS]
    assert found.steps[1].choice is Choice.IN_FORCE


@pytest.mark.parametrize(
    ("fields", "choice", "word"),
    [
        ({"profile": Profile.EXTREME}, Choice.LEAVE, "extreme"),
        ({"profile": Profile.MINIMAL}, Choice.TAKE, "minimal"),
        ({"measure": "Red Hat says 0"}, Choice.MEASURE, "Red Hat says 0"),
        ({"rollback": Rollback.NEVER}, Choice.LEAVE, "reboot"),
        ({"changes": (), "by_hand": "in the BIOS"}, Choice.BY_HAND, "in the BIOS"),
        ({"changes": (), "boot": (Sysctl("a.b", "1"),)}, Choice.TAKE, "recommended"),
    ],
)
def test_each_choice_is_explained(
    tmp_path: Path, fields: dict[str, object], choice: Choice, word: str
) -> None:
    (step,) = plan(tmp_path, Fake("R06", [replace(INTERVAL, **fields)])).steps  # type: ignore[arg-type]

    assert step.choice is choice
    assert word in step.reason
    assert bool(step.due) == (choice is Choice.TAKE and bool(step.changes))


def test_profiles_hold_the_smaller_ones(tmp_path: Path) -> None:
    checks = [
        Fake(
            f"X{profile:02}", [remedy(f"X{profile:02}-now", Change(setting, "7"), profile=profile)]
        )
        for profile, setting in zip(Profile, (STAT_INTERVAL, SWAPPINESS, MASK), strict=True)
    ]

    counts = [len(plan(tmp_path, *checks, profile=profile).of(Choice.TAKE)) for profile in Profile]

    assert counts == [1, 2, 3]


def test_only_takes_what_is_named_whatever_the_profile(tmp_path: Path) -> None:
    extreme = replace(INTERVAL, profile=Profile.EXTREME, measure="somebody")
    other = remedy("R15-now", Change(SWAPPINESS, "10"))
    checks = [Fake("R06", [extreme]), Fake("R15", [other]), Fake("R16", is_good=True)]

    found = plan(tmp_path, *checks, only=["R06", "R16"])

    assert [step.choice for step in found.steps] == [Choice.TAKE, Choice.LEAVE]
    assert any("R16: nothing to change; the check says PASS" in note for note in found.notes)


def test_what_no_profile_takes_here_is_taken_by_name(tmp_path: Path) -> None:
    named = replace(INTERVAL, profile=Profile.MINIMAL, by_name="programs must be started in it")

    left = plan(tmp_path, Fake("R06", [named]), profile=Profile.EXTREME).steps[0]
    taken = plan(tmp_path, Fake("R06", [named]), only=["R06-now"]).steps[0]

    assert (left.choice, left.reason) == (
        Choice.LEAVE,
        "programs must be started in it: name it with --only",
    )
    assert taken.choice is Choice.TAKE


def test_an_id_nobody_knows_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean R06"):
        plan(tmp_path, Fake("R06", [INTERVAL]), only=["R60"])


def test_what_others_wait_for_goes_first(tmp_path: Path) -> None:
    late = remedy("A01-now", Change(STAT_INTERVAL, "120"), after=("B01-now", "not-there"))
    early = remedy("B01-now", Change(SWAPPINESS, "10"))

    found = plan(tmp_path, Fake("A01", [late]), Fake("B01", [early]))

    assert [step.remedy.id for step in found.steps] == ["B01-now", "A01-now"]


def test_remedies_that_wait_for_each_other_are_an_error(tmp_path: Path) -> None:
    one = remedy("A01-now", Change(STAT_INTERVAL, "120"), after=("B01-now",))
    other = remedy("B01-now", Change(SWAPPINESS, "10"), after=("A01-now",))

    with pytest.raises(TautError, match="wait for each other: A01-now, B01-now"):
        plan(tmp_path, Fake("A01", [one]), Fake("B01", [other]))


def test_of_two_values_for_one_setting_the_first_is_taken(tmp_path: Path) -> None:
    same = remedy("X01-now", Change(STAT_INTERVAL, "120"))
    other = remedy("X02-now", Change(STAT_INTERVAL, "10"))

    found = plan(tmp_path, Fake("R06", [INTERVAL]), Fake("X01", [same]), Fake("X02", [other]))

    assert [step.choice for step in found.steps] == [Choice.TAKE, Choice.LEAVE, Choice.LEAVE]
    assert found.steps[1].reason == "R06-now does it"
    assert found.steps[2].reason == "R06-now sets it to 120"


def moves(root: Path, role: Role | None, n_virtual: int = 2) -> dict[str, str]:
    """What becomes of a guest that may run on every core, as a plan for cores 2-3 has it."""
    virtual = [f"CPU {number}/KVM" for number in range(n_virtual)]
    wide = dict.fromkeys(("qemu-system-x86", *virtual), "0-3")
    host = tree(root, FILES | guest(threads=wide, vhost="0-3"))
    checks = [check for check in CHECKS if check.id in ("R22", "R24", "V01")]
    situation = find_situation(host, role, cores=(2, 3))
    assert situation.role is Role.KVM_HOST
    found = make_plan(host, run_audit(host, situation, checks=checks), Profile.RECOMMENDED)
    due = [each.change for step in found.steps for each in step.due]
    return {change.setting.name.partition(" (")[0]: change.wanted for change in due}


def test_virtual_cpus_get_a_poll_core_each_where_these_are_for_guests(tmp_path: Path) -> None:
    assert moves(tmp_path, Role.KVM_HOST) == {
        "affinity of qemu-system-x86": "0-1",
        f"affinity of vhost-{PID}": "0-1",
        "affinity of CPU 0/KVM": "2",
        "affinity of CPU 1/KVM": "3",
    }


@pytest.mark.parametrize(
    ("role", "n_virtual"),
    [pytest.param(None, 2, id="of-a-measurement"), pytest.param(Role.KVM_HOST, 4, id="too-few")],
)
def test_virtual_cpus_are_moved_off_all_other_poll_cores(
    role: Role | None, n_virtual: int, tmp_path: Path
) -> None:
    found = moves(tmp_path, role, n_virtual)

    assert {found.get(f"affinity of CPU {number}/KVM") for number in range(n_virtual)} == {"0-1"}


@pytest.mark.parametrize(
    ("path", "form", "value", "is_taken"),
    [
        ("/proc/irq/24/smp_affinity", "mask", "3", True),
        ("/proc/irq/24/smp_affinity", "mask", "4", False),
        ("/proc/irq/24/smp_affinity", "mask", "7", True),
        ("/proc/irq/24/smp_affinity", "mask", "nonsense", False),
    ],
)
def test_interrupts_keep_a_housekeeping_core(
    tmp_path: Path, path: str, form: str, value: str, *, is_taken: bool
) -> None:
    change = Change(FileSetting(path, form), value)

    (step,) = plan(tmp_path, Fake("R02", [remedy("R02-now", change)])).steps

    assert (step.choice is Choice.TAKE) == is_taken
    assert is_taken or "no housekeeping core" in step.reason


def test_a_file_this_machine_lacks_is_left(tmp_path: Path) -> None:
    change = Change(FileSetting("/sys/not/here"), "1")

    (step,) = plan(tmp_path, Fake("X01", [remedy("X01-now", change)])).steps

    assert step.choice is Choice.LEAVE
    assert "/sys/not/here" in step.reason


@pytest.mark.parametrize("cores", [(0, 1, 2, 3), (7,)])
def test_cores_that_cannot_poll_are_refused(tmp_path: Path, cores: tuple[int, ...]) -> None:
    with pytest.raises(InputError):
        plan(tmp_path, situation=replace(POLL, cores=cores))


def test_a_plan_says_what_isolation_is_worth_here(tmp_path: Path) -> None:
    change = Change(CpusetPartition("taut"), "2-3")

    found = plan(tmp_path, Fake("K04", [remedy("K04-now", change)]))

    assert any("isolation of 2-3: no cpusets" in note for note in found.notes)


def test_the_document_has_everything_a_plan_says(tmp_path: Path) -> None:
    boot = remedy("R06-boot", boot=(Sysctl("vm.stat_interval", "120"),))
    found = plan(tmp_path, Fake("R06", [INTERVAL, boot]))

    document = json.loads(json.dumps(plain(as_document(found))))

    assert document["cores"] == "2-3"
    assert document["steps"][0]["now"] == [
        {
            "setting": "/proc/sys/vm/stat_interval",
            "kind": "file",
            "old": "1\n",
            "new": "120",
            "in_force": False,
            "left": "",
        }
    ]
    assert document["steps"][1]["boot"] == [
        {"kind": "Sysctl", "item": "sysctl vm.stat_interval = 120"}
    ]
