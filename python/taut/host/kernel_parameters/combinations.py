"""Parameters that undo, repeat or need each other."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from taut.host.kernel_parameters.command_line import Parameter
from taut.host.kernel_parameters.names import is_for_others
from taut.host.kernel_parameters.problem import Gravity, Kind, Problem
from taut.host.kernel_parameters.values import CPU_LISTS
from taut.host.kernel_parameters.words import word_set

# Given several times, all count.
_CUMULATIVE = word_set(
    "console earlycon earlyprintk hugepages hugepagesz isolcpus memmap mce tsc acpi_osi iommu"
    " intel_iommu amd_iommu pci pcie_ports trace_event trace_instance kprobe_event video ip"
    " nfsaddrs crashkernel initcall_blacklist module_blacklist clearcpuid setcpuid mitigations rdt"
    " memory_corruption_check netconsole dyndbg efi kmemleak earlylsm lsm.debug cgroup_disable"
    " cgroup_enable cgroup_no_v1 usbcore.quirks usb_storage.quirks libata.force drm.edid_firmware"
    " efivar_ssdt reserve_mem root rootflags ima_template"
)
_OFF = frozenset(["0", "off", "n", "no", "false"])

Values = Mapping[str, Sequence[Parameter]]


def combination_problems(parameters: Sequence[Parameter]) -> Iterator[Problem]:
    """Judge parameters together; those that name cores are isolation.py's."""
    by_name: defaultdict[str, list[Parameter]] = defaultdict(list)
    for parameter in parameters:
        by_name[parameter.name].append(parameter)
    yield from _repeated(by_name)
    yield from _idle_problems(by_name)
    yield from _tick_problems(by_name)
    yield from _huge_page_problems(parameters)


def _repeated(by_name: Values) -> Iterator[Problem]:
    for name, same in by_name.items():
        values = [parameter.value for parameter in same]
        if name in _CUMULATIVE or is_for_others(name) or len(set(values)) < 2:
            continue
        first_wins = name == "nohz_full"
        counts = same[0] if first_wins else same[-1]
        yield Problem(
            Kind.CONTRADICTORY,
            " ".join(parameter.text for parameter in same),
            Gravity.ERROR if name in CPU_LISTS else Gravity.WARNING,
            f"given {len(same)} times: {counts.text} counts, the others do not",
            "keep one",
        )


def _idle_problems(by_name: Values) -> Iterator[Problem]:
    polling = _last(by_name, "idle")
    if polling is not None and polling.value == "poll":
        yield from _polling_idle_problems(polling, by_name)
    driver = _last(by_name, "intel_idle.max_cstate")
    acpi = _last(by_name, "processor.max_cstate")
    if (
        driver is not None
        and driver.value == "0"
        and (acpi is None or acpi.value not in ("0", "1"))
    ):
        yield Problem(
            Kind.MISUNDERSTOOD,
            driver.text,
            Gravity.WARNING,
            "only turns intel_idle off: acpi_idle takes over, and C-states stay as deep as the"
            " firmware offers (S4 takes it for a limit)",
            "intel_idle.max_cstate=1 processor.max_cstate=1",
        )


def _polling_idle_problems(polling: Parameter, by_name: Values) -> Iterator[Problem]:
    halting = [
        parameter
        for name, same in by_name.items()
        for parameter in same
        if name.startswith(("haltpoll.", "cpuidle_haltpoll."))
        or (name == "cpuidle.governor" and parameter.value == "haltpoll")
    ]
    for parameter in halting[:1]:
        yield Problem(
            Kind.CONTRADICTORY,
            f"{polling.text} {parameter.text}",
            Gravity.ERROR,
            "with idle=poll no idle driver runs: haltpoll never gets its turn",
            "one of the two; in a guest haltpoll spares the host",
        )
    limits = [
        same[-1].text
        for name, same in by_name.items()
        if name in ("processor.max_cstate", "intel_idle.max_cstate")
    ]
    if limits:
        yield Problem(
            Kind.INERT,
            " ".join(limits),
            Gravity.NOTE,
            "with idle=poll no core enters a C-state that could be limited",
            "keep the limits and drop idle=poll",
        )


def _tick_problems(by_name: Values) -> Iterator[Problem]:
    nohz_full, nohz = _last(by_name, "nohz_full"), _last(by_name, "nohz")
    if nohz_full is not None and nohz is not None and (nohz.value or "").lower() in _OFF:
        yield Problem(
            Kind.CONTRADICTORY,
            f"{nohz.text} {nohz_full.text}",
            Gravity.ERROR,
            "nohz=off keeps the tick that nohz_full would stop",
            "remove nohz=off",
        )
    poll = _last(by_name, "rcu_nocb_poll")
    offloads = "rcu_nocbs" in by_name or nohz_full is not None
    if poll is not None and not offloads:
        yield Problem(
            Kind.INERT,
            poll.text,
            Gravity.WARNING,
            "no core's RCU callbacks are offloaded: there is nothing to poll for",
            "rcu_nocbs= or nohz_full= with the cores",
        )
    normal = _last(by_name, "rcupdate.rcu_normal_after_boot")
    expedited = _last(by_name, "rcupdate.rcu_expedited")
    if normal and expedited and normal.value not in (None, "0") and expedited.value == "1":
        yield Problem(
            Kind.CONTRADICTORY,
            f"{normal.text} {expedited.text}",
            Gravity.WARNING,
            "after boot normal grace periods win over expedited ones",
            "remove rcupdate.rcu_expedited",
        )


def _huge_page_problems(parameters: Sequence[Parameter]) -> Iterator[Problem]:
    """`hugepages=` counts for the size before it; a size without a count reserves nothing."""
    named = ("hugepagesz", "hugepages")
    order = [parameter for parameter in parameters if parameter.name in named]
    for parameter, following in zip_longest(order, order[1:]):
        if parameter.name == "hugepagesz" and (following is None or following.name == "hugepagesz"):
            yield Problem(
                Kind.INERT,
                parameter.text,
                Gravity.NOTE,
                "no hugepages= follows: no page of this size is reserved at boot",
                f"{parameter.text} hugepages=N",
            )


def _last(by_name: Values, name: str) -> Parameter | None:
    same = by_name.get(name)
    return same[-1] if same else None
