"""`taut init [NAME]`: an experiment to edit, with a comment at every key."""

from pathlib import Path
from typing import Annotated

import typer

from taut.core.errors import InputError

EXAMPLES = (
    "taut init",
    "taut init my-bridge",
)

# A line "#KEY = ..." is a key as it would be written: take the # away.
EXPERIMENT = """\
# An experiment: every device under every load, each packet timed.
#
#     taut run {file} --dry-run     # the trials, their time and disk
#     taut run {file}
#
# Editors that know TOML complete keys and mark mistakes, with the schema beside this file
#
#     taut schema experiment > experiment.schema.json
#
# and "#:schema ./experiment.schema.json" as the file's first line.

name = "{name}"
seed = 1                      # of the order and of every schedule
repetitions = 6               # the run is the unit of a claim: two devices need six
duration = "2s"               # measured time of a trial; 10s, 500ms
warm_up = "500ms"             # sent before it, reported apart
deadline = "500ms"            # a packet that takes longer is lost
#trace = "off"                # as root, runs record what the kernel does on the cores

# Which core does what; left out, taut chooses and says so.
#[cores]
#generator = 0
#device = 1

# What is measured: one table a device. `taut doctor` says which drivers work here.
[[device]]
driver = "taut_forward"       # taut's own forwarder, over shared memory, without root
name = "eager"

[[device]]
driver = "taut_forward"
name = "buffered"
options = {{ transmit = "buffered:32,100us" }}

# The kernel's bridge between two network namespaces; needs root.
#[[device]]
#driver = "linux_bridge"

# States of the host, taken in turn and given back; needs root. Left out: the host as it is.
#[[host]]
#name = "as found"
#[[host]]
#name = "trimmed"
#profile = "recommended"      # as `taut host apply` takes it; or only = ["R24", "R06"]

# Where devices run, in turn; `taut doctor` says which places work here. Left out: on the host.
#[[placement]]
#name = "bare"
#[[placement]]
#name = "container"
#devices = ["eager"]          # which devices run there; the kernel's bridge cannot

# What is sent: one table a load.
[[traffic]]
schedule = "constant"         # jittered, poisson, burst, step as well: docs/reference.md
frames = [64]                 # bytes with FCS, 64 to 1518, or "imix"
rates = ["100kpps"]           # or "50Mbps"; each rate is a load of its own
#flows = 1                    # UDP source ports, in turn
#both = true                  # load both directions
#devices = ["eager"]          # which devices get this load; left out: all
"""


def init(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What it is called; the file is NAME.toml.")
    ] = "experiment",
) -> None:
    """Write an experiment to edit, a comment at every key; an existing file is not touched."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    # Here, not above: `-h` needs none of it.
    from taut.experiment.spec import parse_spec

    text = EXPERIMENT.format(name=path.stem, file=path)
    try:
        parse_spec(text)
    except InputError:
        raise InputError(
            f"init {name!r}: no name of an experiment; small letters, digits, _, . and -: my-bridge"
        ) from None
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path}: is there already; name another: taut init NAME") from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror}; name one that can"
        ) from None
    print(f"Wrote {path}. Edit it, then:\n  taut run {path} --dry-run")
