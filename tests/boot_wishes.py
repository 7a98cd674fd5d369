"""Wishes of every kind, and a machine of four cores of which two poll."""

from taut.host.boot.context import BootContext
from taut.host.boot.item import KernelParameter, ModuleOption, Sysctl, SysfsValue, UnitState
from taut.host.boot.wish import BootWish
from taut.host.situation import Role

CONTEXT = BootContext(
    Role.POLL_CORE,
    online=(0, 1, 2, 3),
    cores=(2, 3),
    program="/opt/taut/bin/taut",
    cmdline="BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet nohz_full=1",
)
WISHES = [
    BootWish(
        KernelParameter("isolcpus", flags=("managed_irq",), cores=(2, 3)), 'queues: "$x" 100%'
    ),
    BootWish(KernelParameter("isolcpus", flags=("domain",), cores=(2, 3)), "other threads"),
    BootWish(KernelParameter("nohz_full", cores=(2, 3)), "ticks\n(two lines)"),
    BootWish(KernelParameter("rcu_nocb_poll"), "wake-ups"),
    BootWish(Sysctl("vm.stat_interval", "120"), "vmstat_update"),
    BootWish(SysfsValue("/sys/kernel/mm/ksm/run", "0"), "merging"),
    BootWish(ModuleOption("kvm", "halt_poll_ns", "0"), "spinning"),
    BootWish(ModuleOption("kvm", "kvmclock_periodic_sync", "0"), "resync"),
    BootWish(UnitState("irqbalance.service", is_enabled=False), "moves interrupts"),
    BootWish(UnitState("chrony.service", is_enabled=True), "time"),
]
LINE = "isolcpus=domain,managed_irq,2-3 nohz_full=2-3 rcu_nocb_poll"
