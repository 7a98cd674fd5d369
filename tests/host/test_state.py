"""States of a host: entered, verified and left through the journal, whatever happens."""

import errno
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, TreeWriter, put, tree
from taut.core.errors import InputError, TautError
from taut.host.apply import Outcome, Wish, apply_changes
from taut.host.check import Profile
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.setting import Change
from taut.host.settings import CpusetPartition, FileSetting
from taut.host.state import (
    HostState,
    HostStateError,
    HostStates,
    describe_applied,
    holders,
    refuse_applied,
    take_back,
)
from taut.host.undo import undo
from taut.records.documents.manifest import Applied
from undone_machine import machine_files

INTERVAL = "/proc/sys/vm/stat_interval"
TIMEOUT = "/proc/sys/kernel/hung_task_timeout_secs"
FILES = {
    "/etc/machine-id": "me\n",
    "/proc/sys/kernel/random/boot_id": "now\n",
    INTERVAL: "1\n",
    TIMEOUT: "120\n",
}
FOUND = HostState("as found")
ONLY = HostState("one", only=("R06",))
TRIMMED = HostState("trimmed", Profile.RECOMMENDED)


def states(host: Host, writer: TreeWriter | None = None) -> HostStates:
    return HostStates(host, writer or TreeWriter(host), lambda: POLL, "run abcd")


def test_a_state_is_in_force_inside_and_gone_outside(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)

    with states(host) as run:
        run.enter(TRIMMED)
        assert (host.read(INTERVAL), host.read(TIMEOUT)) == ("120", "600")
        standing = run.read_in_force()
        assert standing.n_changes == standing.n_in_force >= 2

        run.enter(FOUND)
        assert machine_files(tmp_path) == before
        assert run.read_in_force().n_changes == 0

        run.enter(ONLY)
        assert (host.read(INTERVAL), host.read(TIMEOUT)) == ("120", "120")

    assert machine_files(tmp_path) == before
    assert not Journal(host).is_there


def test_a_remedy_can_be_left_out(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)

    with states(host) as run:
        run.enter(replace(TRIMMED, without=("R06",)))

        assert (host.read(INTERVAL), host.read(TIMEOUT)) == ("1", "600")


def test_a_setting_no_check_proposes_can_be_a_state(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    change = Change(FileSetting(INTERVAL, "number"), "10")

    with states(host) as run:
        run.enter(HostState("ten", changes=(change,)))

        assert (host.read(INTERVAL), host.read(TIMEOUT)) == ("10", "120")


def test_a_partition_that_keeps_taut_off_its_cores_is_no_state_of_a_run(tmp_path: Path) -> None:
    host = tree(tmp_path, {**FILES, "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n"})
    before = machine_files(tmp_path)
    apart = HostState("apart", changes=(Change(CpusetPartition("taut"), "2-3"),))

    with states(host) as run, pytest.raises(InputError, match="host 'apart': setting: an isolated"):
        run.enter(apart)

    assert machine_files(tmp_path) == before


def test_an_error_inside_gives_the_host_back(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)

    with pytest.raises(KeyboardInterrupt), states(host) as run:
        run.enter(TRIMMED)
        raise KeyboardInterrupt

    assert machine_files(tmp_path) == before


def test_a_change_that_fails_leaves_nothing_and_names_it(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)
    run = states(host, TreeWriter(host, refusals={TIMEOUT: 5}))

    with pytest.raises(TautError, match=rf"'trimmed': R21-now: {TIMEOUT}"):
        run.enter(TRIMMED)

    assert machine_files(tmp_path) == before


def test_a_state_whose_change_failed_is_tried_again(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    refusals = {TIMEOUT: 5}

    with states(host, TreeWriter(host, refusals=refusals)) as run:
        for _ in range(2):
            with pytest.raises(TautError, match=TIMEOUT):
                run.enter(TRIMMED)
        refusals.clear()
        assert run.enter(TRIMMED).of(Outcome.IN_FORCE)
        assert host.read(TIMEOUT) == "600"


def test_a_state_whose_entering_was_refused_is_not_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taut.host.journal._LOCK_WAIT_S", 0.0)
    host = tree(tmp_path, FILES)

    with states(host) as run:
        with Journal(host).locked(), pytest.raises(TautError, match="is at work"):
            run.enter(ONLY)
        assert run.read_in_force().n_changes == 0
        run.enter(ONLY)
        assert host.read(INTERVAL) == "120"

    assert host.read(INTERVAL) == "1"


def test_what_was_changed_before_an_error_is_put_back(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)
    left = [INTERVAL]

    class Failing(TreeWriter):
        def write_file(self, path: str, text: str) -> None:
            super().write_file(path, text)
            if path in left:
                left.remove(path)
                raise RuntimeError("as a fault of taut would")

    with states(host, Failing(host)) as run:
        with pytest.raises(RuntimeError):
            run.enter(ONLY)
        assert host.read(INTERVAL) == "120"
        run.enter(FOUND)
        assert machine_files(tmp_path) == before


def test_a_host_that_cannot_be_put_back_is_never_taken_for_one_as_found(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    run = states(host)
    run.enter(ONLY)
    put(tmp_path, INTERVAL, "7\n")

    for _ in range(2):
        with pytest.raises(HostStateError, match=f"{INTERVAL}: changed by somebody else"):
            run.enter(FOUND)
    put(tmp_path, INTERVAL, "120\n")

    run.enter(FOUND)
    assert host.read(INTERVAL) == "1"


def test_a_state_is_left_however_long_another_has_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taut.host.journal._LOCK_WAIT_S", 0.0)
    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)
    is_taken = threading.Event()

    def have_it() -> None:
        with Journal(host).locked():
            is_taken.set()
            time.sleep(0.3)

    other = threading.Thread(target=have_it)
    with states(host) as run:
        run.enter(ONLY)
        other.start()
        assert is_taken.wait(60)

    other.join()
    assert machine_files(tmp_path) == before


def test_ctrl_c_ends_the_wait_for_the_journal_and_says_how_the_host_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taut.host.journal._LOCK_WAIT_S", 0.0)
    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)
    told: list[str] = []

    def tell(words: str) -> None:
        told.append(words)
        signal.raise_signal(signal.SIGINT)

    run = HostStates(host, TreeWriter(host), lambda: POLL, "run abcd", tell)
    run.enter(ONLY)
    with (
        Journal(host).locked(),
        pytest.raises(HostStateError, match=r"is at work; .* still be changed: `taut host undo`"),
    ):
        run.leave()

    assert [words.partition(":")[0] for words in told] == [
        "another `taut host apply`, `undo` or `effect` is at work"
    ]
    assert host.read(INTERVAL) == "120"
    run.leave()
    assert machine_files(tmp_path) == before


def test_a_state_that_cannot_be_left_says_what_puts_the_host_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = tree(tmp_path, FILES)
    run = states(host)
    run.enter(ONLY)

    def refuse(_: Journal) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "load", refuse)
        with pytest.raises(HostStateError, match=r"output error; settings .* `taut host undo`"):
            run.leave()
    assert host.read(INTERVAL) == "120"

    run.leave()
    assert host.read(INTERVAL) == "1"


def test_what_somebody_else_changed_is_seen(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)

    with pytest.raises(TautError, match="changed by somebody else"), states(host) as run:
        run.enter(ONLY)
        put(tmp_path, INTERVAL, "7\n")
        assert run.read_in_force().lost == (INTERVAL,)


def test_what_an_undo_took_back_meanwhile_is_lost(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)

    with states(host) as run:
        run.enter(TRIMMED)
        n_changes = run.read_in_force().n_changes
        with Journal(host).locked():
            assert undo(host, TreeWriter(host), Journal(host), force=True).is_good

        standing = run.read_in_force()

    assert {INTERVAL, TIMEOUT} <= set(standing.lost)
    assert (standing.n_changes, standing.n_in_force) == (n_changes, 0)


def test_a_killed_runs_settings_carry_its_name_and_go_back(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)
    states(host).enter(TRIMMED)  # never left: as kill -9 leaves it

    assert holders(host) == ["run abcd"]
    take_back(host, TreeWriter(host), "run abcd")

    assert machine_files(tmp_path) == before
    assert holders(host) == []


def test_an_apply_made_by_hand_is_never_taken_over(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    wish = Wish("R06-now", Change(FileSetting(INTERVAL, "number"), "120"))
    apply_changes(host, TreeWriter(host), [wish])

    assert describe_applied(host) == Applied(1, ("R06-now",))
    with pytest.raises(InputError, match="taut host undo"):
        refuse_applied(host)
    take_back(host, TreeWriter(host), "run abcd")
    assert host.read(INTERVAL) == "120"


def test_another_run_that_holds_the_host_is_named(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    states(host).enter(ONLY)

    assert describe_applied(host) is None
    with pytest.raises(InputError, match=r"another run \(run abcd\)"):
        refuse_applied(host)


def test_ctrl_c_in_the_middle_of_a_change_waits_for_its_end(tmp_path: Path) -> None:
    class Interrupted(TreeWriter):
        def write_file(self, path: str, text: str) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            super().write_file(path, text)

    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)

    with pytest.raises(KeyboardInterrupt), states(host, Interrupted(host)) as run:
        run.enter(TRIMMED)
        pytest.fail("measured")

    assert machine_files(tmp_path) == before


def test_ctrl_c_waits_also_when_another_thread_could_take_the_signal(tmp_path: Path) -> None:
    """As libraries have them: a mask of this thread alone would let it through."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        test_ctrl_c_in_the_middle_of_a_change_waits_for_its_end(tmp_path)
    finally:
        done.set()
        other.join()
