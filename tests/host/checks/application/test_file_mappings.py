from pathlib import Path

from host_pollers import PROGRAM, SITUATION
from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.application.file_mappings import CHECK

SMAPS = "/proc/500/smaps"
MOUNTS = {
    "/proc/500/mounts": "/dev/vda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n"
    "huge /mnt/my\\040huge hugetlbfs rw 0 0\n"
}


def mapping(path: str, rights: str = "rw-s", dirty: int = 8) -> str:
    return (
        f"7f0c8000-7f0c9000 {rights} 00000000 08:01 1234   {path}\n"
        "Size:                  4 kB\nShared_Clean: 0 kB\n"
        f"Shared_Dirty:          {dirty} kB\nPrivate_Dirty: 0 kB\nVmFlags: rd wr sh\n"
    )


FINE = (
    mapping("/dev/shm/ring")
    + mapping("/mnt/my huge/rtemap_0")
    + mapping("/memfd:buffers (deleted)")
    + mapping("/usr/bin/program", rights="rw-p")
    + mapping("/usr/lib/libc.so", rights="r--s")
    + mapping("/var/lib/table", dirty=0)
    + mapping("[heap]", rights="rw-p")
    + mapping("")
)


def test_memory_private_pages_and_clean_files_are_good(tmp_path: Path) -> None:
    files = PROGRAM | MOUNTS | {SMAPS: FINE}

    assert judge(CHECK, tmp_path, files, SITUATION).state is State.PASS


def test_a_dirty_file_of_a_disk_fails(tmp_path: Path) -> None:
    smaps = FINE + mapping("/var/log/ring buffer") + mapping("[vdso]", rights="r-xp")

    finding = judge(CHECK, tmp_path, PROGRAM | MOUNTS | {SMAPS: smaps}, SITUATION)

    assert finding.state is State.FAIL
    assert finding.observed == "/var/log/ring buffer (8 kB dirty) of process 500"


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, PROGRAM, POLL).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, PROGRAM, SITUATION).state is State.NOT_APPLICABLE
    odd = PROGRAM | {SMAPS: "lots of memory\n", "/proc/500/mounts": "x\n"}
    assert judge(CHECK, tmp_path, odd, SITUATION).state is State.UNKNOWN
