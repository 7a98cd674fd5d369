from dataclasses import dataclass, replace
from pathlib import Path

from host_tree import POLL, TreeWriter, judge, put, remedied
from taut.host.check import State
from taut.host.checks.runtime.leftover_tracing import CHECK
from taut.host.host import Host
from taut.host.situation import Role

FOLDER = "/sys/kernel/tracing"
QUIET = {
    f"{FOLDER}/events/sched/sched_switch/enable": "0\n",
    f"{FOLDER}/current_tracer": "nop\n",
    f"{FOLDER}/set_event": "",
    f"{FOLDER}/kprobe_events": "",
    "/proc/filesystems": "nodev\ttracefs\n",
}
INSTANCE = f"{FOLDER}/instances/mine"
LEFT = QUIET | {
    f"{FOLDER}/current_tracer": "function\n",
    f"{INSTANCE}/set_event": "sched:sched_switch\n",
    f"{INSTANCE}/current_tracer": "nop\n",
    f"{INSTANCE}/events/sched/sched_switch/enable": "1\n",
}


@dataclass(frozen=True)
class EventWriter(TreeWriter):
    """An event that is switched on or off shows in set_event."""

    def write_file(self, path: str, text: str) -> None:
        super().write_file(path, text)
        if path.endswith("/enable"):
            buffer, _, event = path.removesuffix("/enable").partition("/events/")
            shown = f"{event.replace('/', ':')}\n" if text.strip() == "1" else ""
            put(self.host.root, f"{buffer}/set_event", shown)


def test_nothing_left_on_is_good(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, QUIET)

    assert finding.state is State.PASS
    assert "no bpftool" in finding.observed


def test_a_tracer_and_an_event_of_an_instance_are_switched_off(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, LEFT)
    assert finding.state is State.FAIL
    assert "tracer function" in finding.observed
    assert "events sched:sched_switch (instance mine)" in finding.observed

    with remedied(CHECK, tmp_path, writer=EventWriter(Host(tmp_path))) as remedies:
        assert [remedy.id for remedy in remedies] == ["R27-now"]


def test_an_instance_of_taut_is_its_own(tmp_path: Path) -> None:
    own = {f"{FOLDER}/instances/taut-audit-12/set_event": "sched:sched_switch\n"}

    assert judge(CHECK, tmp_path, QUIET | own).state is State.PASS


def test_probes_programs_and_counters_are_for_their_owners(tmp_path: Path) -> None:
    put(tmp_path, "/proc/42/comm", "perf\n")
    (tmp_path / "proc/42/fd").mkdir()
    (tmp_path / "proc/42/fd/7").symlink_to("anon_inode:[perf_event]")
    programs = (
        "3: cgroup_device  tag 3918c82a5f4c0360\n12: kprobe  name do_open  tag 8c\n\tloaded_at x\n"
    )
    files = {
        f"{FOLDER}/kprobe_events": "p:kprobes/my_probe do_sys_open\n",
        "/commands/bpftool prog show": programs,
    }

    finding = judge(CHECK, tmp_path, QUIET | files)

    assert finding.state is State.FAIL
    for words in ("perf (42)", "kprobe do_open", "kprobes/my_probe"):
        assert words in finding.observed
        assert words in CHECK.propose(Host(tmp_path), POLL)[0].by_hand
    assert "cgroup_device" not in finding.observed


def test_what_is_not_mounted_is_not_seen(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {"/proc/filesystems": "nodev\ttracefs\n\text4\n"})
    assert finding.state is State.UNKNOWN
    assert "root" in finding.needs

    inside = judge(CHECK, tmp_path, {}, replace(POLL, role=Role.CONTAINER))
    assert "on the host" in inside.needs


def test_a_kernel_without_tracing_has_nothing_left_on(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {"/proc/filesystems": "\text4\n"}).state is State.PASS


def test_content_that_makes_no_sense_does_not_stop_it(tmp_path: Path) -> None:
    odd = {f"{FOLDER}/kprobe_events": "\0\n", "/commands/bpftool prog show": "name\n: : :\n"}

    assert judge(CHECK, tmp_path, QUIET | odd).state is State.PASS
