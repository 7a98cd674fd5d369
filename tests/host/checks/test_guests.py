from dataclasses import replace

from check_rows import KVM_HOST, bad, each, good, skipped, unseen
from guest_tree import GOOD_THREADS, PID, guest, memory
from host_threads import KERNEL, thread_files
from host_tree import Link

CMDLINE = f"/proc/{PID}/cmdline"
SWAP = {"/proc/swaps": "Filename Type Size Used Priority\n/swap file 1 0 -2\n"}
# Threads that vanish or make no sense are left out.
VANISHED = {
    f"/proc/{PID}/task/799/stat": "799 (CPU 9/KVM) S\n",
    f"/proc/{PID}/task/799/status": "Cpus_allowed_list:\tmany\n",
}
RECOVERY = thread_files(901, f"kvm-nx-lpage-recovery-{PID}", "0-3", flags=KERNEL)
EMULATES = {f"/proc/{PID}/fd/1": Link("/dev/null")}
VIRTUALISES = EMULATES | {f"/proc/{PID}/fd/9": Link("anon_inode:kvm-vm")}
KSM = "/sys/kernel/mm/ksm/run"
BALLOON = ("-device", "virtio-balloon-pci,id=balloon0")


def sized(size: str) -> dict[str, str]:
    """A guest with 1500 MiB in hugepages whose command line names a size."""
    return guest(status=memory(1500, 60)) | {CMDLINE: f"qemu-system-x86_64\0-m\0{size}\0"}


ROWS = (
    good("V01", guest(), "2 virtual CPUs on cores 2-3", on=KVM_HOST),
    *(
        bad("V01", guest(threads=GOOD_THREADS | threads), said, on=KVM_HOST)
        for threads, said in (
            ({"CPU 0/KVM": "0-3"}, "guest web: CPU 0/KVM may run on 0-3"),
            ({"CPU 1/KVM": "2"}, "CPU 1/KVM shares core 2"),
            ({"CPU 1/KVM": "1"}, "CPU 1/KVM is on core 1, not among 2-3"),
            ({"IO iothread1": "0-3"}, "IO iothread1 may run on 0-3"),
        )
    ),
    bad("V01", guest(vhost="0-2"), f"vhost-{PID} may run on 0-2", on=KVM_HOST),
    bad("V01", guest() | RECOVERY, f"kvm-nx-lpage-recovery-{PID} may run on 0-3", on=KVM_HOST),
    bad(
        "V01",
        guest(threads=dict.fromkeys(GOOD_THREADS, "0-3"), vhost="0-3"),
        on=KVM_HOST,
        remedies="now by-hand",
        mends=True,
    ),
    # The cores of a measurement are not for guests.
    bad(
        "V01",
        guest(threads=dict.fromkeys(GOOD_THREADS, "0-3"), vhost="0-3"),
        on=replace(KVM_HOST, are_for_guests=False),
        remedies="by-hand",
    ),
    # More virtual CPUs than cores are left to the definition.
    bad(
        "V01",
        guest(threads=GOOD_THREADS | {"CPU 2/KVM": "0-3"}),
        on=KVM_HOST,
        remedies="by-hand",
    ),
    # Nor does a virtual CPU get the core of a switch that polls.
    bad(
        "V01",
        guest(threads=GOOD_THREADS | {"CPU 0/KVM": "0-3"}) | thread_files(500, "pmd-c02", "2"),
        on=replace(KVM_HOST, processes=(500,)),
        remedies="by-hand",
    ),
    unseen("V01", guest(threads={"qemu-system-x86": "0-3"}), "debug-threads=on", on=KVM_HOST),
    good("V01", guest() | VANISHED, on=KVM_HOST),
    unseen("V01", {}, "start it", on=KVM_HOST),
    # A monitor that emulates is no guest of KVM.
    unseen("V01", guest() | EMULATES, "no guest runs", on=KVM_HOST),
    good("V01", guest() | VIRTUALISES, on=KVM_HOST),
    good(
        "V02",
        guest(status=memory(2048, 60)),
        "guest web: 2048 MiB in hugepages, 60 MiB in other pages",
        on=KVM_HOST,
    ),
    bad("V02", guest(status=memory(0, 2000)), on=KVM_HOST),
    bad("V02", guest(status=memory(512, 2000)), on=KVM_HOST),
    bad("V02", guest(status=memory(2048, 60)) | SWAP, "not locked", on=KVM_HOST),
    good("V02", guest(status=memory(2048, 60, locked_kib=4096)) | SWAP, on=KVM_HOST),
    *(
        bad("V02", sized(size), on=KVM_HOST)
        for size in ("2G", "2048", "size=2097152k,slots=4", "2048M")
    ),
    # Without a size hugepages outweigh the rest.
    good("V02", sized("plenty"), on=KVM_HOST),
    unseen("V02", guest(status=""), "root", on=KVM_HOST),
    unseen("V02", guest(status="VmLck: much\nVmRSS: 1 kB\nHugetlbPages: 1 kB\n"), on=KVM_HOST),
    good("V07", guest("-overcommit", "mem-lock=on,cpu-pm=on"), on=KVM_HOST),
    bad(
        "V07",
        guest("-overcommit", "mem-lock=on"),
        "guest web: no cpu-pm=on",
        on=KVM_HOST,
        does=("-overcommit cpu-pm=on",),
    ),
    unseen("V07", guest() | {CMDLINE: ""}, on=KVM_HOST),
    unseen("V07", {}, on=KVM_HOST),
    good("V09", guest("-device", "vfio-pci,host=0000:3b:02.0"), "web: vfio-pci", on=KVM_HOST),
    *(
        bad(
            "V09",
            guest("-device", text),
            "guest web: virtio-net-pci",
            on=KVM_HOST,
            does=("virtual function", "compare both"),
        )
        for text in ("virtio-net-pci,netdev=n0", '{"driver":"virtio-net-pci","netdev":"n0"}')
    ),
    skipped("V09", guest("-device", "pc"), on=KVM_HOST),
    unseen("V09", guest() | {CMDLINE: "\0\0"}, on=KVM_HOST),
    unseen("V09", {}, on=KVM_HOST),
    good("V10", guest(), "dirty logging", on=KVM_HOST),
    good("V10", guest() | {KSM: "0\n"}, on=KVM_HOST),
    good("V10", guest("-machine", "q35,mem-merge=off") | {KSM: "1"}, on=KVM_HOST),
    bad("V10", guest() | {KSM: "1\n"}, f"{KSM} = 1", on=KVM_HOST, does=("memballoon",)),
    bad("V10", guest(*BALLOON), "guest web: balloon", on=KVM_HOST),
    bad("V10", guest(status=memory(0, 9, swap_kib=2048)), "web: 2048 kB in swap", on=KVM_HOST),
    good("V10", guest(status="VmSwap:\n") | {KSM: "often\n"}, on=KVM_HOST),
    unseen("V10", {}, on=KVM_HOST),
)

test_guests = each(ROWS)
