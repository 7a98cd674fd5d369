"""A process under watch: found, told from a later one, and never moved."""

import re
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from host_threads import thread_files
from host_tree import put, tree
from taut.core.cpus import cpuset_cores
from taut.core.errors import InputError, TautError
from taut.experiment import tracing
from taut.experiment.progress import Silent
from taut.host.check import Profile
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.state import HostState, plan_state, wishes_of
from taut.records.documents.manifest import ThreadOfRun
from taut.trim import watched
from taut.trim.watched import Process, find_process, never_tried, situation_of, watching

ONLINE = {"/sys/devices/system/cpu/online": "0-3\n", "/proc/cpuinfo": "flags\t\t: fpu\n"}
MINE = (
    thread_files(500, "my-program", "0-1", status="State:\tS (sleeping)\n")
    | thread_files(501, "my-poller", "2", pid=500, status="State:\tR (running)\n")
    | thread_files(502, "my-poller", "3", pid=500, status="State:\tR (running)\n")
)
HOG = thread_files(600, "hog", "3")


def files(*more: dict[str, str]) -> dict[str, str]:
    """Give /proc; a task's own files are where its thread's are."""
    found = dict(ONLINE)
    for each in more:
        found |= each
    for path in [path for path in found if path.count("/") == 3 and path.endswith("/status")]:
        thread = path.split("/")[2]
        pid = "500" if thread.startswith("50") else thread
        found[f"/proc/{pid}/task/{thread}/status"] = found[path]
    return found | {"/proc/500/comm": "my-program\n", "/proc/500/cmdline": "my-program\0-x\0"}


def test_it_is_found_with_its_pinned_threads(tmp_path: Path) -> None:
    found = find_process(tree(tmp_path, files(MINE)), 500, None)

    assert (found.comm, found.command) == ("my-program", "my-program -x")
    assert (found.threads, found.cores) == ({2: 501, 3: 502}, (2, 3))


def test_a_password_it_was_started_with_is_not_written_down(tmp_path: Path) -> None:
    started = {"/proc/500/cmdline": "my-program\0--password=hunter2\0amqp://u:hunter2@mq\0"}
    found = find_process(tree(tmp_path, files(MINE) | started), 500, None)

    assert found.document().command_line == "my-program --password=*** amqp://u:***@mq"


def test_cores_choose_among_its_threads(tmp_path: Path) -> None:
    host = tree(tmp_path, files(MINE))

    assert find_process(host, 500, (3,)).threads == {3: 502}
    with pytest.raises(InputError, match="--cores 1: no thread of process 500 is pinned there"):
        find_process(host, 500, (1,))
    with pytest.raises(InputError, match="process 77: there is none"):
        find_process(host, 77, None)


@pytest.mark.parametrize(
    ("thread", "says"),
    [(502, "thread 502 of process 500 (my-program) ended"), (500, "")],
    ids=["a thread", "the one that only waits"],
)
def test_a_thread_that_is_gone_is_told(tmp_path: Path, thread: int, says: str) -> None:
    host = tree(tmp_path, files(MINE))
    found = find_process(host, 500, None)
    found.check(host)

    put(tmp_path, f"/proc/{thread}/stat", "gone\n")

    if not says:
        found.check(host)
        return
    with pytest.raises(TautError) as caught:
        found.check(host)
    assert str(caught.value).startswith(says)


def test_a_zombie_is_no_process(tmp_path: Path) -> None:
    host = tree(tmp_path, files(MINE))
    found = find_process(host, 500, (2,))

    for number in (500, 501):
        stat = host.read(f"/proc/{number}/stat")
        assert stat is not None
        put(tmp_path, f"/proc/{number}/stat", re.sub(r"\) \w ", ") Z ", stat))

    with pytest.raises(TautError, match=r"^process 500 \(my-program\) ended while it was measured"):
        found.check(host)


def test_a_thread_that_was_moved_is_told(tmp_path: Path) -> None:
    host = tree(tmp_path, files(MINE))
    found = find_process(host, 500, (3,))

    put(tmp_path, "/proc/502/status", "State:\tR (running)\nCpus_allowed_list:\t0-1\n")

    with pytest.raises(TautError, match=r"was moved from core 3 to 0-1 while it was measured"):
        found.check(host)


def test_no_remedy_moves_its_threads_and_a_hog_beside_them_goes(tmp_path: Path) -> None:
    host = tree(tmp_path, files(MINE, HOG))
    process = find_process(host, 500, None)
    situation = situation_of(host, process)
    state = HostState("trimmed", Profile.EXTREME)

    wishes = wishes_of(plan_state(host, situation, state), state)

    moved = {
        wish.change.setting.thread: wish.change.wanted
        for wish in wishes
        if isinstance(wish.change.setting, ThreadAffinity)
    }
    assert situation.processes == (500,)
    assert moved == {600: "0-1"}


def test_a_partition_that_would_take_its_cores_is_never_tried(tmp_path: Path) -> None:
    host = tree(tmp_path, files(MINE))
    assert never_tried(host) == {}

    put(tmp_path, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n")

    assert list(never_tried(host)) == ["K04-now"]


def test_what_the_manifest_says_of_it() -> None:
    process = Process(500, "my-program", "my-program -x", 1, {2: 501}, {501: 7})

    assert replace(process, starts={}).document().pid == 500
    assert process.document().threads == (ThreadOfRun(2, 501, 7),)


def test_of_two_that_wait_for_their_cores_one_has_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(500, "my-program", "my-program", 1, {2: 501})
    out = tmp_path / "runs" / "trim"

    def watch() -> None:
        with watching(process, out, Silent(), seed=1, wait=True):
            pass

    def waiting(*_: object, **__: object) -> NoReturn:
        with pytest.raises(InputError, match="another taut measures into it; wait for its end"):
            watch()
        raise InputError("waited in vain")

    monkeypatch.setattr(tracing, "why_not", lambda: None)
    monkeypatch.setattr(watched, "measuring_on", waiting)

    with pytest.raises(InputError, match="waited in vain"):
        watch()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.smoke
@pytest.mark.root
def test_a_watch_that_is_refused_leaves_no_run_directory(tmp_path: Path) -> None:
    everywhere = Process(500, "my-program", "my-program", 1, dict.fromkeys(cpuset_cores(), 501))
    out = tmp_path / "runs" / "trim"

    with (
        pytest.raises(InputError, match="no other core is left for taut itself"),
        watching(everywhere, out, Silent(), seed=1),
    ):
        pass

    assert list(tmp_path.iterdir()) == []


@pytest.mark.smoke
@pytest.mark.root
def test_what_is_in_the_way_is_told_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    process = Process(500, "my-program", "my-program", 1, {2: 501})

    with (
        pytest.raises(InputError, match="not empty; give another --out"),
        watching(process, tmp_path, Silent(), seed=1),
    ):
        pass

    assert (tmp_path / "notes").read_text() == "mine"
