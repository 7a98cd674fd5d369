"""virtio: a virtio link between two processes, as between a guest and its host."""

from taut.testbed.socket_link import SocketLinkKind


class VirtioLinkKind(SocketLinkKind):
    """The generator is the guest's end (virtio_user), the device the host's, which copies.

    The guest's end would wait for its peer before it is ready. Unlike memif, the device can sleep
    until a packet interrupts it.
    """

    name = "virtio"
    device_kind = "vhost"
    summary = "virtio rings between two user-space processes (DPDK virtio_user and net_vhost)"
    path = "virtio, vhost-user at the device, virtio_user at the generator"
    has_interrupts = True
