"""`taut quick`: a first result in half a minute, by anybody, on any machine."""

import sys
from pathlib import Path
from typing import Annotated

from taut.cli.options import JsonOption, WaitOption, run_directory_option

EXAMPLES = (
    "taut quick",
    "taut quick --out runs/quick --json",
)

# Not traced, by root neither: it measures the same whoever calls it. Short: 4 s a device and what
# starting it takes.
EXPERIMENT = """\
name = "quick"
duration = "3s"
warm_up = "500ms"
deadline = "500ms"
trace = "off"

[[device]]
driver = "taut_forward"
name = "eager"

[[device]]
driver = "taut_forward"
name = "buffered"
options = { transmit = "buffered:32,100us" }

[[traffic]]
rates = ["100kpps"]
"""


def quick(
    out: Annotated[Path | None, run_directory_option("runs/quick-TIME")] = None,
    wait: WaitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure for 20 s what waiting for a batch costs: two forwarders and no device at all.

    Over shared memory, without root, hugepages or a network card. `eager` sends at once, `buffered`
    waits for 32 packets or 100 µs, `floor` is the same load through no device: what this machine
    itself adds.
    """
    # Here, not above: `-h` needs none of it.
    from taut.cli.quick_words import showing
    from taut.cli.run_job import run_and_report
    from taut.core.files import default_out
    from taut.experiment.plan import make_plan
    from taut.experiment.run_manifest import Origin
    from taut.experiment.spec import parse_spec

    publish, show = showing()
    run_and_report(
        make_plan(parse_spec(EXPERIMENT)),
        out or default_out("quick"),
        Origin(EXPERIMENT, "taut quick", (), tuple(sys.argv)),
        wait=wait,
        as_json=as_json,
        publish=None if as_json else publish,
        show=None if as_json else show,
    )
