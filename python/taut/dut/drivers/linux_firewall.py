"""linux_firewall: nftables in a namespace, between two veth links.

It filters what the kernel routes: nftables' hook `forward` is on the way of routed packets alone.
So it is linux_router with rules, and beside taut's firewall stands with taut's router before it.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

from pydantic import Field

from taut.core.cpus import CpuSet
from taut.dut.driver import DriverOptions
from taut.dut.kernel_counters import count_lost, tables_full
from taut.dut.kernel_device import KernelDriver, RunningKernel
from taut.dut.kernel_router import RoutingOptions, missing_for_routing, routing
from taut.dut.kernel_rules import (
    NO_RULES,
    Rules,
    count_rules,
    load_rules,
    read_rules,
    refused_by_nft,
)
from taut.records.documents.json_form import JsonObject
from taut.testbed import netlink
from taut.testbed.link import Link
from taut.testbed.scope import RunScope


class LinuxFirewallOptions(RoutingOptions):
    """Where the kernel works, the rules, and the files it routes by."""

    FILES: ClassVar[tuple[str, ...]] = ("rules", *RoutingOptions.FILES)

    rules: str = Field(
        "",
        description="file of rules as of taut's firewall (docs/firewall.md), relative to the"
        " experiment's file; without it every packet is accepted",
    )


class LinuxFirewallDriver(KernelDriver):
    """Routes between the device's ends of two veth links, with rules at the forward hook."""

    name = "linux_firewall"
    summary = "the kernel's nftables and IP forwarding over veth, by the rules of taut's firewall"
    options_type: type[DriverOptions] = LinuxFirewallOptions

    def missing(self, options: DriverOptions) -> str | None:
        """Root, `ip`, `nft`, or what is wrong with a file."""
        given = cast(LinuxFirewallOptions, options)
        nf = [f"firewall:rules={given.rules}"] if given.rules else []
        lacks = missing_for_routing(given, *nf)
        if lacks is None and shutil.which("nft") is None:
            lacks = "nft: program not found; install nftables"
        if lacks is not None or not given.rules:
            return lacks
        path = Path(given.rules)
        return refused_by_nft(path, read_rules(path, ["port0", "port1"]))

    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,  # noqa: ARG002 - the kernel writes none
        scope: RunScope,  # noqa: ARG002 - what is made goes with the links' namespace
    ) -> AbstractContextManager[RunningKernel]:
        """Set it up; entered when it forwards."""
        given = cast(LinuxFirewallOptions, options)

        def make_ready(namespace: str, ports: Sequence[str]) -> Callable[[], JsonObject]:
            rules = read_rules(Path(given.rules), ports) if given.rules else NO_RULES
            load_rules(namespace, rules)
            return partial(_count, namespace, ports, rules)

        return routing(self.name, links, cores, given, make_ready)


def _count(namespace: str, ports: Sequence[str], rules: Rules) -> JsonObject:
    """Give what each rule counted, and why packets were lost."""
    counted = count_rules(namespace, rules)
    full = netlink.inside(namespace, tables_full)
    by_rules = {**counted.dropped_by, "table_full": full}
    return {**count_lost(namespace, ports, by_rules), **counted.document}
