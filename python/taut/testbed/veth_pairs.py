"""veth pairs in the two namespaces of a run: what the links `veth` and `xdp` share."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from taut.core.errors import InputError, MissingToolError
from taut.testbed import netlink
from taut.testbed.link import NO_OPTIONS, Link, LinkOptions, Loopback, port_text
from taut.testbed.scope import RunScope

GENERATOR_FRAMES = 8192
"""In each ring of the generator's ports. At 400,000 packets a second they last 20 ms; a core of a
shared machine is seldom away for longer. So what is lost is for the device's own queues to decide,
and not for the instrument's: the kernel's is 1000 long as found. As check R33 has it, it holds all
that two ports can have under way, and what the device cannot take is refused instead."""


class VethPairs:
    """What both do, each as its name says at the device's end."""

    name: str

    def missing(self) -> str | None:
        """Say that it needs root; None for root."""
        return needs_root(self.name)

    def check(self, n: int, options: LinkOptions) -> None:  # noqa: ARG002 - n does not matter
        """It has no options."""
        for key in options:
            raise InputError(f"link {self.name}: unknown option {key!r}; it has none")

    @contextmanager
    def open(
        self, scope: RunScope, n: int, options: LinkOptions = NO_OPTIONS
    ) -> Iterator[Sequence[Link]]:
        """Make n pairs, up and silent: ends ttIDgN in taut-ID-gen, ends ttIDdN in taut-ID-dut."""
        self.check(n, options)
        _require_root(self.name)
        with scope.namespace("gen") as generator, scope.namespace("dut") as device:
            links = []
            for i in range(n):
                ours, theirs = scope.link_name(f"g{i}"), scope.link_name(f"d{i}")
                netlink.add_veth(ours, generator, theirs, device)
                links.append(
                    Link(
                        kind=self.name,
                        generator_port=_generator_port(ours),
                        device_port=port_text(self.name, theirs),
                        generator_netns=generator,
                        device_netns=device,
                        device_ifname=theirs,
                    )
                )
            yield links

    @contextmanager
    def open_loopback(
        self, scope: RunScope, options: LinkOptions = NO_OPTIONS
    ) -> Iterator[Loopback]:
        """One pair in the generator's namespace, AF_PACKET at both ends as with a device."""
        self.check(0, options)
        _require_root(self.name)
        with scope.namespace("gen") as namespace:
            tx, rx = scope.link_name("g0"), scope.link_name("g1")
            netlink.add_veth(tx, namespace, rx, namespace)
            yield Loopback(_generator_port(tx), _generator_port(rx), namespace)


def _generator_port(ifname: str) -> str:
    return port_text("veth", ifname, framecnt=str(GENERATOR_FRAMES))


def needs_root(kind: str) -> str | None:
    """Say that namespaces need root; None for root."""
    if os.geteuid() == 0:
        return None
    return f"link {kind}: network namespaces need root; run as root or use memif"


def _require_root(kind: str) -> None:
    reason = needs_root(kind)
    if reason is not None:
        raise MissingToolError(reason)
