from dataclasses import replace
from pathlib import Path

import pytest

from check_rows import BY_ID, NOBODY, bad, each, good, skipped, unseen
from host_tree import BARE_METAL, POLL, judge
from taut.host.host import Host

RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
LIMITED = {RUNTIME: "950000\n", "/proc/sys/kernel/sched_rt_period_us": "1000000\n"}
NEW = replace(POLL, processes=(500,))
OLD = replace(NEW, machine=replace(BARE_METAL, kernel=(6, 1)))
OFF = "CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n"
FAIR = "/sys/kernel/debug/sched/fair_server"


def thread(policy: object, number: int = 501) -> dict[str, str]:
    fields = ["S", *["0"] * 37, str(policy), *["0"] * 11]
    return {f"/proc/500/task/{number}/stat": f"{number} (poll (er) 1) {' '.join(fields)}\n"}


def built(options: str, command_line: str = "quiet") -> dict[str, str]:
    """A limited real-time poller on a kernel built so."""
    return (
        LIMITED
        | thread(1)
        | {
            "/proc/sys/kernel/osrelease": "6.12.0\n",
            "/boot/config-6.12.0": f"CONFIG_SMP=y\n{options}",
            "/proc/cmdline": f"{command_line}\n",
        }
    )


def runtimes(*values: str) -> dict[str, str]:
    return {f"{FAIR}/cpu{core}/runtime": f"{value}\n" for core, value in enumerate(values)}


ROWS = (
    good("R09", LIMITED | thread(1) | {RUNTIME: "-1\n"}, on=OLD),
    bad(
        "R09",
        LIMITED | thread(0, 500) | thread(1),
        "poll (er) 1 (501)",
        on=OLD,
        does=("sysctl kernel.sched_rt_runtime_us = -1",),
        mends=True,
    ),
    # Round robin is limited too.
    bad("R09", LIMITED | thread(2), on=OLD),
    good("R09", LIMITED | thread(1) | {RUNTIME: "1000000\n"}, on=OLD),
    *(skipped("R09", LIMITED | thread(policy), on=OLD) for policy in (0, 3, 6, "?")),
    skipped("R09", LIMITED, on=OLD),
    # Since the fair server only groups are limited.
    skipped("R09", built("# CONFIG_RT_GROUP_SCHED is not set\n"), on=NEW),
    bad("R09", built("CONFIG_RT_GROUP_SCHED=y\n"), on=NEW),
    skipped("R09", built("CONFIG_RT_GROUP_SCHED=y\n", "rt_group_sched=0"), on=NEW),
    skipped("R09", built(f"CONFIG_RT_GROUP_SCHED=y\n{OFF}"), on=NEW),
    bad("R09", built(f"CONFIG_RT_GROUP_SCHED=y\n{OFF}", "rt_group_sched=1"), on=NEW),
    unseen("R09", LIMITED | thread(1), "RT_GROUP_SCHED", on=NEW),
    unseen("R09", thread(1) | {RUNTIME: "much\n"}, on=OLD),
    skipped("R09", thread(1), on=OLD),
    good("R10", runtimes("50000000", "50000000", "0", "0")),
    bad(
        "R10",
        runtimes("50000000", "50000000", "50000000", "0"),
        "50000 µs on cores 2",
        cores=(2,),
        does=(f"{FAIR}/cpu2/runtime = 0", "extreme", "nobody published"),
        mends=True,
    ),
    skipped("R10", runtimes("1"), on=OLD),
    unseen("R10", {}, "mount -t debugfs"),
    skipped("R10", {"/sys/kernel/debug/sched/debug": "Sched Debug Version: v0.11\n"}),
    unseen("R10", runtimes("0", "0", "0", "\x80")),
    unseen("R10", runtimes("0", "0", "0"), "not there"),
    bad("R10", runtimes(*["50000000"] * 4), on=NOBODY, remedies=""),
    unseen("R10", runtimes("9", "9", "0", "0"), on=NOBODY),
)

test_realtime = each(ROWS)


def test_who_may_not_look_into_debugfs_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "is_denied", lambda self, path: True)

    assert "run as root" in judge(BY_ID["R10"], tmp_path / "a", {}).needs
    assert "lockdown" in judge(BY_ID["R10"], tmp_path / "b", runtimes("?", "?", "?", "?")).needs
