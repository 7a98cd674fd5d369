"""The checks of group R of the catalogue, in its order."""

from taut.host.check import HostCheck
from taut.host.checks.runtime import (
    bound_work,
    busy_poll,
    cache_allocation,
    clock_discipline,
    core_interrupts,
    cpu_dma_latency,
    fair_server,
    foreign_threads,
    frequency_range,
    governor,
    host_changes,
    hung_task,
    irq_affinity,
    irqbalance,
    kernel_thread_priorities,
    kernel_threads,
    ksm,
    leftover_tracing,
    machine_check_polling,
    memory_daemons,
    nic_coalescing,
    nic_queues,
    numa_balancing,
    packet_steering,
    proactive_compaction,
    resume_latency,
    rt_throttling,
    swap,
    tick_reason,
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
    cpu_dma_latency.CHECK,  # R18
    resume_latency.CHECK,  # R19
    machine_check_polling.CHECK,  # R20
    hung_task.CHECK,  # R21
    kernel_threads.CHECK,  # R22
    kernel_thread_priorities.CHECK,  # R23
    foreign_threads.CHECK,  # R24
    cache_allocation.CHECK,  # R25
    busy_poll.CHECK,  # R26
    leftover_tracing.CHECK,  # R27
    core_interrupts.CHECK,  # R28
    tick_reason.CHECK,  # R29
    host_changes.CHECK,  # R30
    memory_daemons.CHECK,  # R31
    clock_discipline.CHECK,  # R32
)
