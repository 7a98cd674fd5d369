"""What inline intrusion prevention systems between two veth links share: their options, their sums.

Such a device forwards each packet that no rule drops. In mode `forward` it has no rules at all and
in mode `filter` every packet meets them.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from taut.dut.driver import DriverOptions
from taut.records.documents.json_form import JsonObject
from taut.records.documents.trial import DutStats, PortCounters
from taut.testbed import netlink
from taut.testbed.link import Link
from taut.testbed.placement import BARE


class InlineOptions(DriverOptions):
    """What it does with each packet."""

    mode: Literal["forward", "filter"] = Field(
        "forward", description="forward: no packet is inspected; filter: each meets the rules"
    )
    rules: str = Field(
        "",
        description="file of rules in the program's own language, relative to the experiment's"
        " file; with mode = filter, without it there are none",
    )
    arguments: tuple[str, ...] = Field((), description="further arguments of the program")

    @model_validator(mode="after")
    def _rules_are_met(self) -> Self:
        if self.rules and self.mode == "forward":
            raise ValueError("mode = forward meets no rules; write mode = filter")
        return self

    @property
    def files(self) -> tuple[Path, ...]:
        """Give the file of rules, where there is one."""
        return (Path(self.rules),) if self.rules else ()

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Give the rules with their whole path."""
        rules = options.get("rules")
        if not isinstance(rules, str) or not rules:
            return dict(options)
        return {**options, "rules": os.path.normpath(folder / rules)}

    def refuses_placement(self, kind: str) -> str | None:
        """Its program and its files are the host's."""
        return None if kind == BARE else f"its program and rules are the host's, not of a {kind}"


def count_inline(links: Sequence[Link], by_itself: Mapping[str, int], told: JsonObject) -> DutStats:
    """Hold what the links carried to what the device says that it dropped.

    `in` is `out`, `dropped`; `dropped_by` sums up to `dropped`, `other` being what neither the
    device nor a link accounts for. `told` is the device's own words.
    """
    namespace = str(links[0].device_netns)
    ports = {
        name: netlink.link_counters(name, namespace)
        for name in (str(link.device_ifname) for link in links)
    }
    come, out = (sum(port[key] for port in ports.values()) for key in ("rx_packets", "tx_packets"))
    reasons = {name: n for name, n in by_itself.items() if n}
    reasons["link"] = sum(port["tx_dropped"] for port in ports.values())
    reasons["other"] = come - out - sum(reasons.values())
    return DutStats(
        ports=tuple(PortCounters(others={"port": name, **n}) for name, n in ports.items()),
        others={
            "in": come,
            "out": out,
            "dropped": come - out,
            "dropped_by": reasons,
            "told": told,
        },
    )
