from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from boot_wishes import CONTEXT, WISHES
from taut.core.errors import InputError
from taut.host.boot.guest import LIBVIRT, QEMU, guest_files


def test_libvirt_pins_each_virtual_cpu_and_the_rest_elsewhere() -> None:
    domain = ET.fromstring(guest_files(WISHES, CONTEXT)[LIBVIRT])

    pins = {pin.get("vcpu"): pin.get("cpuset") for pin in domain.iterfind("cputune/vcpupin")}
    assert pins == {"0": "2", "1": "3"}
    assert [
        domain.find(f"cputune/{name}").get("cpuset") for name in ("emulatorpin", "iothreadpin")
    ] == ["0-1", "0-1"]
    assert domain.findtext("vcpu") == "2"


def test_libvirt_backs_the_guest_with_pages_that_stay() -> None:
    domain = ET.fromstring(guest_files(WISHES, CONTEXT)[LIBVIRT])

    page = domain.find("memoryBacking/hugepages/page")
    assert page is not None and (page.get("size"), page.get("unit")) == ("1024", "MiB")
    assert domain.find("memoryBacking/locked") is not None
    assert domain.find("devices/memballoon[@model='none']") is not None


def test_libvirt_shows_an_invariant_tsc_and_that_the_cores_are_its_own() -> None:
    domain = ET.fromstring(guest_files(WISHES, CONTEXT)[LIBVIRT])

    assert domain.find("cpu/feature[@name='invtsc'][@policy='require']") is not None
    assert domain.find("features/kvm/hint-dedicated[@state='on']") is not None
    arguments = [
        element.get("value")
        for element in domain.iter("{http://libvirt.org/schemas/domain/qemu/1.0}arg")
    ]
    assert arguments == ["-overcommit", "cpu-pm=on"]


def test_qemu_gets_the_same() -> None:
    text = guest_files(WISHES, replace(CONTEXT, guest_memory_mib=1500))[QEMU]

    assert "+invtsc,kvm-hint-dedicated=on" in text
    assert "size=1500M,hugetlb=on,hugetlbsize=2M,prealloc=on" in text
    assert "-overcommit mem-lock=on,cpu-pm=on" in text
    assert "taskset --cpu-list --pid 3 THREAD of CPU 1/KVM" in text


@pytest.mark.parametrize("cores", [(), (0, 1, 2, 3)])
def test_a_guest_needs_cores_and_leaves_some(cores: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="--cores"):
        guest_files(WISHES, replace(CONTEXT, cores=cores))
