"""The checks of group R of the catalogue, in its order."""

from taut.host.check import HostCheck
from taut.host.checks.runtime import (
    bound_work,
    fair_server,
    frequency_range,
    governor,
    irq_affinity,
    irqbalance,
    ksm,
    nic_coalescing,
    nic_queues,
    numa_balancing,
    packet_steering,
    proactive_compaction,
    rt_throttling,
    swap,
    timer_migration,
    vm_stat_interval,
    workqueue_cpumask,
)

CHECKS: tuple[HostCheck, ...] = (
    irqbalance.CHECK,  # R01
    irq_affinity.CHECK,  # R02
    nic_queues.CHECK,  # R03
    packet_steering.CHECK,  # R04
    nic_coalescing.CHECK,  # R05
    vm_stat_interval.CHECK,  # R06
    workqueue_cpumask.CHECK,  # R07
    bound_work.CHECK,  # R08
    rt_throttling.CHECK,  # R09
    fair_server.CHECK,  # R10
    timer_migration.CHECK,  # R11
    ksm.CHECK,  # R12
    numa_balancing.CHECK,  # R13
    proactive_compaction.CHECK,  # R14
    swap.CHECK,  # R15
    governor.CHECK,  # R16
    frequency_range.CHECK,  # R17
)
