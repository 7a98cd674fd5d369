"""Forward frames between two network interfaces, both ways, until SIGINT: forward.py IF0 IF1.

A program of its own, without taut: the device under test. Its counters are its last line.
"""

import json
import select
import socket
import sys

MOST_BYTES = 65_536
EVERY_PROTOCOL = 0x0003  # ETH_P_ALL, linux/if_ether.h


def open_port(interface: str) -> socket.socket:
    """Open a packet socket that gets every frame of an interface."""
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_PROTOCOL))
    port.bind((interface, EVERY_PROTOCOL))
    port.setblocking(False)
    return port


def forward(ports: tuple[socket.socket, socket.socket], counts: dict[str, int]) -> None:
    """Send what comes in at one port out of the other, for ever."""
    other = {ports[0]: ports[1], ports[1]: ports[0]}
    while True:
        for port in select.select(ports, (), ())[0]:
            frame, (_, _, kind, _, _) = port.recvfrom(MOST_BYTES)
            if kind == socket.PACKET_OUTGOING:
                continue  # a packet socket is shown what is sent, too
            try:
                other[port].send(frame)
                counts["forwarded"] += 1
            except BlockingIOError:
                counts["refused"] += 1


def main() -> None:
    """Say `ready`, forward, and print the counters at the end."""
    ports = open_port(sys.argv[1]), open_port(sys.argv[2])
    counts = {"forwarded": 0, "refused": 0}
    print("ready", flush=True)
    try:
        forward(ports, counts)
    except KeyboardInterrupt:
        print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
