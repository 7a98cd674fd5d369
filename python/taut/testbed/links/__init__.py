"""The kinds of links: one file each, this table names them all."""

from taut.testbed.link import LinkKind
from taut.testbed.links.memif import MemifLinkKind
from taut.testbed.links.pci import PciLinkKind
from taut.testbed.links.veth import VethLinkKind
from taut.testbed.links.vhost import VhostLinkKind
from taut.testbed.links.virtio import VirtioLinkKind
from taut.testbed.links.xdp import XdpLinkKind

LINKS: dict[str, LinkKind] = {
    kind.name: kind
    for kind in (
        MemifLinkKind(),
        VethLinkKind(),
        XdpLinkKind(),
        VirtioLinkKind(),
        VhostLinkKind(),
        PciLinkKind(),
    )
}
