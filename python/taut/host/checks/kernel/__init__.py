"""The checks of group K of the catalogue, in its order."""

from taut.host.check import HostCheck
from taut.host.checks.kernel import (
    audit_rules,
    build_options,
    domain_isolation,
    frequency_driver,
    hugepages,
    idle_poll,
    idle_states,
    ignored_parameters,
    interrupt_threads,
    iommu,
    irq_affinity,
    isolation_lists,
    kthread_cpus,
    lockup_watchdogs,
    machine_checks,
    managed_interrupts,
    nohz_full,
    preemption_model,
    pressure_stalls,
    rcu_callbacks,
    rcu_expedited,
    rcu_nocb_poll,
    rcu_patience,
    serial_console,
    skew_tick,
    transparent_hugepages,
    tsc_watchdog,
    unbound_work,
)

CHECKS: tuple[HostCheck, ...] = (
    ignored_parameters.CHECK,  # K01
    build_options.CHECK,  # K02
    preemption_model.CHECK,  # K03
    domain_isolation.CHECK,  # K04
    managed_interrupts.CHECK,  # K05
    nohz_full.CHECK,  # K06
    isolation_lists.CHECK,  # K07
    rcu_callbacks.CHECK,  # K08
    rcu_nocb_poll.CHECK,  # K09
    rcu_patience.CHECK,  # K10
    rcu_expedited.CHECK,  # K11
    irq_affinity.CHECK,  # K12
    kthread_cpus.CHECK,  # K13
    idle_poll.CHECK,  # K14
    idle_states.CHECK,  # K15
    frequency_driver.CHECK,  # K16
    tsc_watchdog.CHECK,  # K17
    machine_checks.CHECK,  # K18
    audit_rules.CHECK,  # K19
    lockup_watchdogs.CHECK,  # K20
    skew_tick.CHECK,  # K21
    hugepages.CHECK,  # K22
    transparent_hugepages.CHECK,  # K23
    iommu.CHECK,  # K24
    serial_console.CHECK,  # K25
    pressure_stalls.CHECK,  # K26
    interrupt_threads.CHECK,  # K27
    unbound_work.CHECK,  # K28
)
