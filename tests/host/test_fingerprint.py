import json
from pathlib import Path

from taut.host.fingerprint import fingerprint, hypervisor
from taut.host.host import Host

_FILES = {
    "/proc/cpuinfo": "model name\t: Some CPU\nmicrocode\t: 0x1\nflags\t\t: constant_tsc rdtscp\n",
    "/proc/cmdline": "quiet isolcpus=1\n",
    "/proc/sys/kernel/osrelease": "6.1.0-test\n",
    "/proc/meminfo": "MemTotal: 1024 kB\n",
    "/etc/os-release": 'NAME="X"\nPRETTY_NAME="Some Linux 1"\n',
    "/sys/devices/system/cpu/online": "0-1\n",
    "/sys/devices/system/cpu/isolated": "1\n",
    "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "64\n",
    "/sys/bus/pci/devices/0000:3b:00.0/vendor": "0x8086\n",
}


def _machine(root: Path) -> Host:
    for path, text in _FILES.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Host(root)


def test_the_machine_is_read(tmp_path: Path) -> None:
    found = fingerprint(_machine(tmp_path), ["0000:3b:00.0"])

    assert found["cpu"]["model"] == "Some CPU"
    assert found["cpu"]["microcode"] == "0x1"
    assert found["cpu"]["flags"]["constant_tsc"]
    assert not found["cpu"]["flags"]["nonstop_tsc"]
    assert found["cores"]["isolated"] == [1]
    assert found["cores"]["governor"] == {"0": None, "1": "performance"}
    assert found["kernel"] == "6.1.0-test"
    assert found["cmdline"] == "quiet isolcpus=1"
    assert found["os"] == "Some Linux 1"
    assert found["transparent_hugepages"] == "madvise"
    assert found["hugepages"] == {"2048kB": {"total": "64", "free": None}}
    assert found["nics"][0]["vendor"] == "0x8086"
    assert found["hypervisor"] is None


def test_a_machine_that_tells_nothing_has_a_fingerprint_too(tmp_path: Path) -> None:
    found = fingerprint(Host(tmp_path))

    assert found["cpu"]["model"] is None
    assert json.dumps(found)


def test_a_guest_names_its_hypervisor(tmp_path: Path) -> None:
    host = _machine(tmp_path)
    (tmp_path / "proc/cpuinfo").write_text("flags : hypervisor\n")

    assert hypervisor(host) == "unknown"

    (tmp_path / "sys/class/dmi/id").mkdir(parents=True)
    (tmp_path / "sys/class/dmi/id/sys_vendor").write_text("QEMU\n")

    assert hypervisor(host) == "QEMU"
