"""What the host of a KVM guest gives it: a fragment of libvirt's XML, and options of QEMU.

Both say the same: virtual CPUs alone on their cores, memory in locked hugepages, an invariant
TSC, and no exits for idling. They are texts to take over, not files that a host reads.
"""

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from taut.core.cpus import format_cpu_list
from taut.core.errors import InputError
from taut.host.boot.context import BootContext
from taut.host.boot.wish import BootWish

LIBVIRT = "/etc/taut/guest.xml"
QEMU = "/etc/taut/guest.qemu"
_GIB_MIB = 1024

_XML = """\
<!-- For virsh edit: merge these elements into the guest's own. -->
<domain type="kvm" xmlns:qemu="http://libvirt.org/schemas/domain/qemu/1.0">
  <memory unit="MiB">{memory}</memory>
  <memoryBacking>
    <hugepages><page size={page} unit="MiB"/></hugepages>
    <nosharepages/>
    <locked/>
    <allocation mode="immediate"/>
  </memoryBacking>
  <vcpu placement="static">{n_cpus}</vcpu>
  <iothreads>1</iothreads>
  <cputune>
{pins}
    <emulatorpin cpuset={rest}/>
    <iothreadpin iothread="1" cpuset={rest}/>
  </cputune>
  <features>
    <kvm><hint-dedicated state="on"/></kvm>
  </features>
  <cpu mode="host-passthrough" check="none" migratable="off">
    <topology sockets="1" dies="1" cores="{n_cpus}" threads="1"/>
    <cache mode="passthrough"/>
    <feature policy="require" name="invtsc"/>
    <feature policy="require" name="tsc-deadline"/>
  </cpu>
  <clock offset="utc">
    <timer name="tsc" mode="native" present="yes"/>
    <timer name="kvmclock" present="no"/>
    <timer name="hpet" present="no"/>
  </clock>
  <devices>
    <memballoon model="none"/>
  </devices>
  <qemu:commandline>
    <qemu:arg value="-overcommit"/>
    <qemu:arg value="cpu-pm=on"/>
  </qemu:commandline>
</domain>
"""
_OPTIONS = """\
# Options of QEMU, then what pins its threads: QEMU does not do that by itself.
-name guest=GUEST,debug-threads=on
-machine q35,accel=kvm,memory-backend=ram,mem-merge=off
-cpu host,migratable=no,+invtsc,kvm-hint-dedicated=on
-smp {n_cpus},sockets=1,cores={n_cpus},threads=1
-m {memory}
-object memory-backend-memfd,id=ram,size={memory}M,hugetlb=on,hugetlbsize={page}M,prealloc=on
-overcommit mem-lock=on,cpu-pm=on

# Once it runs, in PID its process: first all its threads, then each virtual CPU.
# taskset --all-tasks --cpu-list --pid {rest} PID
{tasksets}
"""


def guest_files(wishes: Sequence[BootWish], context: BootContext) -> dict[str, str]:  # noqa: ARG001
    """Give both texts; InputError where no core, or no other core, is there for the guest."""
    if not context.cores or not context.housekeeping:
        raise InputError(
            "a guest needs cores of its own, and its host others: name the guest's with --cores"
        )
    # 1 GiB pages where they divide the memory.
    page = _GIB_MIB if context.guest_memory_mib % _GIB_MIB == 0 else 2
    rest = format_cpu_list(context.housekeeping)
    pinned = list(enumerate(context.cores))
    xml = _XML.format(
        memory=context.guest_memory_mib,
        page=quoteattr(str(page)),
        n_cpus=len(pinned),
        rest=quoteattr(rest),
        pins="\n".join(f'    <vcpupin vcpu="{cpu}" cpuset="{core}"/>' for cpu, core in pinned),
    )
    options = _OPTIONS.format(
        memory=context.guest_memory_mib,
        page=page,
        n_cpus=len(pinned),
        rest=rest,
        tasksets="\n".join(
            f"# taskset --cpu-list --pid {core} THREAD of CPU {cpu}/KVM (/proc/PID/task/*/comm)"
            for cpu, core in pinned
        ),
    )
    return {LIBVIRT: xml, QEMU: options}
