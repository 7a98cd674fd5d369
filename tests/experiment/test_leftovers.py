"""What dead tauts left is named before it is removed: the host's settings, folders of runs."""

import errno
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from host_tree import POLL, TreeWriter, put, tree
from taut.core.errors import InputError, TautError
from taut.core.processes import process_start_time
from taut.experiment import leftovers
from taut.host.apply import Wish, apply_changes
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings import FileSetting
from taut.host.state import HostState, HostStateError, HostStates, holders
from taut.testbed import cleanup
from taut.testbed.core_locks import busy_cores, measuring_on
from taut.testbed.leftovers import Places, find_leftovers, remove_leftovers
from taut.testbed.owner import Owner, boot_id, owner_of, pid_namespace

TIMEOUT = "/proc/sys/kernel/hung_task_timeout_secs"
FILES = {
    "/etc/machine-id": "me\n",
    "/proc/sys/kernel/random/boot_id": "now\n",
    "/proc/sys/vm/stat_interval": "1\n",
    TIMEOUT: "120\n",
}
NOBODY = 999_999_999
"""No process: the kernel numbers none so high."""
DEAD = f"pid {NOBODY}, started 1"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs, on a machine where nothing else was left."""
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    monkeypatch.setenv("TMPDIR", str(nowhere))
    places = Places((nowhere / "tracing",), nowhere / "mounts", nowhere / "proc")
    (nowhere / "tracing/instances").mkdir(parents=True)
    monkeypatch.setattr(leftovers, "find_leftovers", lambda: find_leftovers(places))
    monkeypatch.setattr(leftovers, "remove_leftovers", lambda: remove_leftovers(places))
    base = tmp_path / "base"
    base.mkdir(mode=0o700)
    return base


def changed_by(holder: str, root: Path, machine: str = "me") -> Host:
    """A host whose settings a run changed and did not put back."""
    host = tree(root, {**FILES, "/etc/machine-id": f"{machine}\n"})
    HostStates(host, TreeWriter(host), lambda: POLL, holder).enter(HostState("one", only=("R06",)))
    return host


def test_folders_of_dead_runs_are_named_and_those_of_living_ones_are_not(
    base: Path, tmp_path: Path
) -> None:
    living = [base / "aaaa", base / f".new-bbbb-{os.getpid()}-{process_start_time(os.getpid())}"]
    dead = [base / f".new-cccc-{NOBODY}-1", base / "dddd", base / "eeee"]
    for folder in (*living, *dead):
        folder.mkdir()
    owner_of("aaaa", os.getpid()).write(base / "aaaa")
    Owner("dddd", NOBODY, 1, boot_id()).write(base / "dddd")

    named = leftovers.find(base, tree(tmp_path / "host", FILES))

    assert named == [f"folder {folder}" for folder in dead]
    assert all(folder.is_dir() for folder in (*living, *dead))
    assert set(named) <= set(cleanup.clean(base))


@pytest.mark.root
@pytest.mark.beside
@pytest.mark.parametrize(
    ("holder", "named"),
    [
        (
            lambda: f"run ab12, pid {NOBODY}, started 1, in {pid_namespace()}",
            ["settings of the host that run ab12 changed"],
        ),
        (lambda: leftovers.holder_of("ab12"), []),
    ],
    ids=["dead", "alive"],
)
def test_settings_of_the_host_that_a_dead_run_changed_are_named(
    holder: Callable[[], str], named: list[str], base: Path, tmp_path: Path
) -> None:
    host = changed_by(holder(), tmp_path / "host")

    assert leftovers.find(base, host) == named


@pytest.mark.root
@pytest.mark.beside
def test_a_journal_of_another_machine_does_not_hide_the_rest(base: Path, tmp_path: Path) -> None:
    host = changed_by("run ab12, pid 1, started 1, in here", tmp_path / "host", "another")
    (tmp_path / "host/etc/machine-id").write_text("me\n")
    (base / "cccc").mkdir()

    assert leftovers.find(base, host) == [f"folder {base / 'cccc'}"]
    assert f"folder {base / 'cccc'}" in leftovers.clean(base, host)
    assert not (base / "cccc").exists()


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host that two dead runs changed; a setting of the first somebody else changed since."""
    monkeypatch.setattr(leftovers, "_dead", holders)
    monkeypatch.setattr(leftovers, "Writer", TreeWriter)
    host = changed_by(f"run ab12, {DEAD}, in here", tmp_path / "host")
    second = Change(FileSetting(TIMEOUT, "number"), "600")
    apply_changes(host, TreeWriter(host), [Wish("X", second)], holder=f"run cd34, {DEAD}, in here")
    put(host.root, "/proc/sys/vm/stat_interval", "7\n")
    return host


def test_a_setting_that_somebody_else_changed_keeps_nothing_else_from_being_undone(
    base: Path, refused: Host
) -> None:
    for name in ("cccc", "dddd"):
        (base / name).mkdir()
    failed: list[str] = []

    removed = leftovers.clean(base, refused, failed.append)

    (why,) = failed
    assert why.startswith("/proc/sys/vm/stat_interval: changed by somebody else meanwhile")
    assert refused.read(TIMEOUT) == "120"
    assert removed == [
        "1 settings of the host, put back",
        *(f"folder {base / name}" for name in ("cccc", "dddd")),
    ]


def test_who_is_to_change_the_host_learns_at_the_end_that_it_is_not_as_found(
    base: Path, refused: Host
) -> None:
    (base / "cccc").mkdir()

    with pytest.raises(HostStateError, match="changed by somebody else"):
        leftovers.clean(base, refused)

    assert refused.read(TIMEOUT) == "120"
    assert list(base.iterdir()) == []


def test_a_run_that_cannot_be_undone_keeps_no_other_from_it(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove_run(folder: Path, _: object) -> list[str]:
        if folder.name == "dddd":
            return [f"folder {folder}"]
        raise OSError(errno.EBUSY, "Device or resource busy", folder.name)

    for name in ("bbbb", "cccc", "dddd"):
        (base / name).mkdir()
    monkeypatch.setattr(cleanup, "remove_run", remove_run)
    failed: list[str] = []

    assert cleanup.clean(base, failed.append) == [f"folder {base / 'dddd'}"]
    assert [words[-6:] for words in failed] == ["'bbbb'", "'cccc'"]
    with pytest.raises(TautError, match=r"busy: 'bbbb'; .* busy: 'cccc'$"):
        cleanup.clean(base)


@pytest.mark.parametrize(
    ("holder", "ends"),
    [
        (lambda: leftovers.holder_of("ab12"), ["may go at any moment"]),
        (
            lambda: f"run ab12, {DEAD}, in {pid_namespace()}",
            ["--clean` puts it back, or says why not"],
        ),
        (lambda: "", []),
    ],
    ids=["alive", "dead", "by hand"],
)
def test_a_run_is_warned_of_what_another_has_changed(
    holder: Callable[[], str], ends: list[str], tmp_path: Path
) -> None:
    host = changed_by(holder(), tmp_path / "host")

    warned = leftovers.changed_by_others(host)

    assert len(warned) == len(ends)
    assert all(words.startswith("run ab12 has changed settings of this host") for words in warned)
    assert all(map(str.endswith, warned, ends))


def test_what_only_root_can_put_back_is_told_until_a_reboot_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    host = changed_by(f"run ab12, {DEAD}, in {pid_namespace()}", tmp_path / "host")

    assert leftovers.put_host_back(host) == []
    (words,) = leftovers.changed_by_others(host)
    assert "it is measured with them, not as found" in words

    put(host.root, "/proc/sys/kernel/random/boot_id", "next\n")
    assert leftovers.changed_by_others(host) == []


def test_a_boot_ends_a_run_of_whatever_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another PID namespace nobody can tell, within a boot, whether a process lives."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(leftovers, "Writer", TreeWriter)
    host = changed_by(f"run ab12, {DEAD}, in another", tmp_path / "host")
    put(host.root, "/sys/devices/system/cpu/online", "8186\n")

    with (
        pytest.raises(InputError, match=r"run ab12 .* or `taut host undo --force`$"),
        leftovers.free_to_change(host),
    ):
        pytest.fail("it was changed")

    put(host.root, "/proc/sys/kernel/random/boot_id", "next\n")
    with leftovers.free_to_change(host):
        leftovers.put_host_back(host)

    assert holders(host) == []


def test_no_measurement_begins_while_the_host_is_changed_by_hand(tmp_path: Path) -> None:
    # No machine has them: no run of another test holds them.
    host = tree(tmp_path, {"/sys/devices/system/cpu/online": "8180-8183\n"})

    with leftovers.free_to_change(host):
        assert busy_cores(range(8179, 8185)) == (8180, 8181, 8182, 8183)
    assert busy_cores(range(8180, 8184)) == ()

    with (
        measuring_on([8182]),
        pytest.raises(InputError, match=r"^core 8182: "),
        leftovers.free_to_change(host),
    ):
        pytest.fail("it was changed under a measurement")


def test_a_change_by_hand_that_waits_begins_when_the_measurement_ends(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/sys/devices/system/cpu/online": "8184-8185\n"})
    told: list[str] = []
    with ExitStack() as measurement:
        measurement.enter_context(measuring_on([8185]))

        def end(words: str) -> None:
            told.append(words)
            measurement.close()

        with leftovers.free_to_change(host, wait=True, waiting=end):
            assert [words.partition(":")[0] for words in told] == ["core 8185"]
            assert busy_cores([8184, 8185]) == (8184, 8185)
