from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied
from taut.host.check import State
from taut.host.checks.runtime.busy_poll import CHECK

POLLING = replace(POLL, processes=(500,))
READ = "/proc/sys/net/core/busy_read"
BUSY = "/proc/sys/net/core/busy_poll"
OFF = {READ: "0\n", BUSY: "0\n"}


def with_socket(root: Path, inode: int = 4242) -> dict[str, str]:
    """A process with an open socket, of the network if the inode is 4242."""
    folder = root / "proc/500/fd"
    folder.mkdir(parents=True)
    (folder / "3").symlink_to(f"socket:[{inode}]")
    (folder / "4").symlink_to("/dev/null")
    return {"/proc/500/net/udp": "  sl  local_address\n 1: 00000000:0044 07 0 0 0 4242 2 0\n"}


def test_a_program_with_sockets_wants_it(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, with_socket(tmp_path) | OFF, POLLING).state is State.FAIL

    with remedied(CHECK, tmp_path, POLLING) as remedies:
        assert [remedy.id for remedy in remedies] == ["R26-now", "R26-boot"]
        assert all(remedy.measure for remedy in remedies)


def test_fifty_microseconds_are_good(tmp_path: Path) -> None:
    on = with_socket(tmp_path) | {READ: "50\n", BUSY: "50\n"}

    assert judge(CHECK, tmp_path, on, POLLING).state is State.PASS


def test_a_program_without_network_sockets_wants_nothing(tmp_path: Path) -> None:
    files = with_socket(tmp_path, inode=7) | OFF

    assert judge(CHECK, tmp_path, files, POLLING).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, OFF).state is State.NOT_APPLICABLE


def test_a_real_time_kernel_does_without(tmp_path: Path) -> None:
    rt = replace(POLLING, machine=replace(BARE_METAL, is_realtime=True))

    assert judge(CHECK, tmp_path, with_socket(tmp_path) | OFF, rt).state is State.NOT_APPLICABLE


def test_absent_and_malformed(tmp_path: Path) -> None:
    files = with_socket(tmp_path)

    assert judge(CHECK, tmp_path, files, POLLING).state is State.NOT_APPLICABLE
    odd = files | {READ: "?\n", BUSY: "0\n"}
    assert judge(CHECK, tmp_path, odd, POLLING).state is State.UNKNOWN
