import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import pytest

from check_rows import BY_ID, GUEST, HOUSEKEEPING, NOBODY, bad, each, good, skipped, unseen
from host_idle import DEVICE, NO_LIMIT, HostOfUser, held, idle_files
from host_threads import stat_line
from host_tree import BARE_METAL, POLL, SLEEP, Link, TreeWriter, judge, put, remedied, tree
from taut.host.check import Severity, State
from taut.host.host import Host
from taut.host.settings.held_latency import PID_FILE
from taut.host.situation import Role, Situation

CPU = "/sys/devices/system/cpu"
CMDLINE = "/proc/cmdline"
POLLS = {CMDLINE: "idle=poll\n"}
DRIVER = f"{CPU}/cpuidle/current_driver"
DEEP = {DRIVER: "intel_idle\n"} | idle_files()
SHALLOW = idle_files(states=(("POLL", 0), ("C1", 2)))
LIMIT = f"{CPU}/cpu2/power/pm_qos_resume_latency_us"
FREE = idle_files() | {DEVICE: held(NO_LIMIT)}
AMD = replace(POLL, machine=replace(BARE_METAL, vendor="amd"))
ARM = replace(POLL, machine=replace(BARE_METAL, vendor="arm"))
HALTS = {DRIVER: "none\n"}
GOVERNORS = f"{CPU}/cpuidle/available_governors"
SLEEPS = replace(SLEEP, role=Role.KVM_GUEST, machine=GUEST.machine)
VMWARE = replace(
    SLEEPS, machine=replace(BARE_METAL, hypervisor="VMware, Inc. VMware Virtual Platform")
)

ROWS = (
    *(good("K14", {CMDLINE: f"{line}\n"}) for line in ("quiet", "idle=halt", "idle")),
    bad("K14", POLLS, on=HOUSEKEEPING, remedies="by-hand", does=("remove",)),
    bad("K14", POLLS, on=GUEST),
    good("K14", POLLS),
    skipped("K14", POLLS, on=ARM),
    unseen("K14", {}),
    good("K15", {DRIVER: "intel_idle\n"} | SHALLOW),
    bad(
        "K15",
        DEEP,
        "C6(133µs)",
        cores=(2, 3),
        remedies="now boot",
        does=("intel_idle.max_cstate=1\nkernel parameter processor.max_cstate=1",),
        mends=True,
    ),
    # A latency that is held puts deep states out of reach.
    good("K15", DEEP | {DEVICE: held(2)}),
    good("K15", DEEP | idle_files(limit="n/a")),
    bad("K15", DEEP | idle_files(limit="500")),
    good("K15", {DRIVER: "none\n"}, "halt"),
    good("K15", {DRIVER: "haltpoll\n"}, on=GUEST),
    # A core that polls packets never idles.
    skipped("K15", HALTS, "never idle", on=GUEST),
    bad("K15", HALTS, on=SLEEPS, remedies="boot", does=("cpuidle_haltpoll.force=1",)),
    bad("K15", HALTS | {GOVERNORS: "menu haltpoll\n"}, on=SLEEPS, remedies="boot"),
    bad("K15", HALTS, on=replace(GUEST, cores=()), remedies="boot"),
    # Only guests of KVM have haltpoll.
    skipped("K15", HALTS | {GOVERNORS: "ladder menu teo\n"}, "no haltpoll", on=SLEEPS),
    skipped("K15", HALTS, "no haltpoll", on=VMWARE),
    bad("K15", DEEP, on=AMD, does=("recommended\nkernel parameter processor.max_cstate=1",)),
    bad("K15", DEEP, on=ARM, does=("recommended\nkernel parameter cpuidle.off=1",)),
    skipped("K15", {}),
    unseen("K15", {DRIVER: "intel_idle\n", f"{CPU}/cpu2/cpuidle/state1/name": "\n"}),
    good(
        "R18",
        idle_files() | {DEVICE: held(2), "/proc/42/comm": "tuned\n", "/proc/42/fd/7": Link(DEVICE)},
        "tuned (42)",
    ),
    bad("R18", FREE, "no limit", "C6 (133 µs) open on 2-3", remedies="now", does=("extreme",)),
    # A machine without limits per core needs the holder.
    bad(
        "R18",
        {path: text for path, text in FREE.items() if "/power/" not in path},
        does=("recommended",),
    ),
    bad("R18", idle_files() | {DEVICE: held(10)}, "C1E (10 µs)"),
    # Limits of the cores themselves are as good.
    good("R18", FREE | idle_files(limit="n/a")),
    good("R18", SHALLOW),
    skipped("R18", {DEVICE: held(NO_LIMIT)}),
    bad("R18", FREE, "open on 0-3", on=replace(HOUSEKEEPING, cores=())),
    skipped("R18", FREE, "the host's idle states", on=GUEST),
    unseen("R18", FREE | {DEVICE: "lots of it"}),
    unseen("R18", idle_files()),
    good("R19", idle_files(limit="n/a")),
    bad(
        "R19",
        idle_files(),
        "core 2: C6 (133 µs) is open",
        cores=(2, 3),
        remedies="now boot",
        does=(f"{LIMIT} = 2",),
        mends=True,
    ),
    bad("R19", idle_files(limit="2") | {LIMIT: "0\n"}, cores=(2,)),
    # A limit held for all cores serves.
    good("R19", idle_files() | {DEVICE: held(2)}),
    bad("R19", idle_files(), on=NOBODY, remedies=""),
    skipped("R19", {}),
    unseen("R19", idle_files(limit="never")),
)

test_idle = each(ROWS)


@pytest.mark.parametrize(
    ("check", "files", "state"),
    [
        ("K15", DEEP, State.UNKNOWN),
        ("R18", FREE, State.UNKNOWN),
        ("R19", idle_files(), State.UNKNOWN),
        ("K15", DEEP | idle_files(limit="n/a"), State.PASS),
        ("R19", idle_files(limit="n/a"), State.PASS),
        # No limit keeps a core out of a state without a latency.
        ("K15", {path: text for path, text in DEEP.items() if "latency" not in path}, State.FAIL),
    ],
)
def test_a_limit_that_only_root_may_read_may_be_in_force(
    check: str, files: dict[str, str], state: State, tmp_path: Path
) -> None:
    tree(tmp_path, files | {DEVICE: held(2)})

    finding = BY_ID[check].inspect(HostOfUser(tmp_path), POLL)

    assert finding.state is state
    assert finding.needs == ("run as root" if state is State.UNKNOWN else "")


@pytest.mark.parametrize(
    ("situation", "severity"),
    [(SLEEPS, Severity.MAJOR), (replace(GUEST, cores=()), Severity.MINOR)],
)
def test_a_guest_that_halts_costs_most_where_packets_wait_for_it(
    situation: Situation, severity: Severity, tmp_path: Path
) -> None:
    assert judge(BY_ID["K15"], tmp_path, HALTS, situation).severity is severity


def test_no_parameter_of_haltpoll_is_proposed_where_it_does_nothing(tmp_path: Path) -> None:
    assert not BY_ID["K15"].propose(tree(tmp_path, HALTS), VMWARE)


@dataclass(frozen=True)
class HolderWriter(TreeWriter):
    """Starts and ends a holder as `taut host hold` is one."""

    def start_process(self, argv: Sequence[str]) -> IO[bytes]:
        latency_us = int(argv[list(argv).index("--latency") + 1])
        put(self.host.root, "/proc/77/stat", stat_line(77, "taut"))
        put(self.host.root, PID_FILE, f"77 770 {latency_us}\n")
        put(self.host.root, DEVICE, held(latency_us))
        return io.BytesIO()

    def end_process(self, process: int) -> None:
        self._at(f"/proc/{process}/stat").unlink()
        self._at(PID_FILE).unlink()
        put(self.host.root, DEVICE, held(NO_LIMIT))


def test_taut_holds_what_c1_takes(tmp_path: Path) -> None:
    tree(tmp_path, FREE)

    with remedied(BY_ID["R18"], tmp_path, writer=HolderWriter(Host(tmp_path))) as remedies:
        assert [change.wanted for change in remedies[0].changes] == ["2"]
