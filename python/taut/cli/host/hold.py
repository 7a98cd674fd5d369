"""`taut host hold`: keep the processor's wake-up latency limited while this process lives."""

from typing import Annotated

import typer

from taut.host.hold import hold as hold_host
from taut.host.host import Host

EXAMPLES = ("taut host hold --latency 0 --seconds 10",)


def hold(
    latency: Annotated[
        int, typer.Option(metavar="N", help="Microseconds; 0 keeps every core polling.")
    ] = 0,
    seconds: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="How long; default: until it is told to end."),
    ] = None,
    wait_for_go: Annotated[bool, typer.Option("--wait-for-go", hidden=True)] = False,
) -> None:
    """Limit what waking up may take, on all cores, until SIGTERM or Ctrl-C.

    The kernel keeps the limit only while /dev/cpu_dma_latency is open.
    """
    hold_host(Host(), latency, seconds=seconds, waits_for_go=wait_for_go)
