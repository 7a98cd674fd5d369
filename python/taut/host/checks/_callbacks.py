"""Which cores have their RCU callbacks run by threads, so that others can run them."""

import re

from taut.core.cpus import CpuSet, cores_in
from taut.host.checks._boot import boot_lines, given_cores, parameters
from taut.host.checks._threads import kernel_threads
from taut.host.kernel_parameters.facts import read_kernel_facts
from taut.host.threads import Thread
from taut.host.view import CPU, NOHZ_FULL, View

_OFFLOADED = "Offload RCU callbacks from CPUs:"


def callback_threads(see: View) -> list[Thread]:
    """Give the threads that run callbacks of cores, of all cores once one is offloaded."""
    return list(kernel_threads(see, "rcuo"))


def offloaded(see: View) -> CpuSet:
    """Give what the kernel said at boot; else what it was asked for: nohz_full implies it.

    Without callback_threads() it is not so, whatever was said or asked.
    """
    for line in boot_lines(see, _OFFLOADED):
        cores = cores_in(re.sub(r"[.\s]", "", line.partition(_OFFLOADED)[2]))
        if cores is not None:
            return cores
    options = read_kernel_facts(see.host).config or {}
    if options.get("RCU_NOCB_CPU", "y") != "y":
        return ()
    found = set(see.list_of_cores(NOHZ_FULL) or ())
    if options.get("RCU_NOCB_CPU_DEFAULT_ALL") == "y":
        found.update(see.list_of_cores(f"{CPU}/online") or ())
    for parameter in parameters(see, "rcu_nocbs"):
        found.update(given_cores(see, parameter.value or "") or ())
    return tuple(sorted(found))
