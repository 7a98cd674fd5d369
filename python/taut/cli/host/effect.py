"""`taut host effect`: what sets of knobs do to packets, measured off and on in turn."""

from pathlib import Path
from typing import Annotated

import typer

from taut.cli.options import (
    JsonOption,
    SetOption,
    WaitOption,
    core_overrides,
    run_directory_option,
)

# A floor would take as long again without telling anything about a knob; tracing disturbs.
_LEAN = ("floor=false", "trace=off")

EXAMPLES = ("taut host effect R24,R06 R22",)

_KnobsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SET...",
        help="Knobs that are turned together, commas between them: R24,R06.",
    ),
]
_SpecOption = Annotated[
    Path | None,
    typer.Option(
        metavar="SPEC",
        help="Judge by this experiment; default: eager over memif, 100 kpkt/s, runs of 2 s.",
    ),
]
_DeviceOption = Annotated[
    str | None,
    typer.Option(
        metavar="DEVICE",
        help="With --spec, this device of it alone; else the driver of the one that is loaded.",
    ),
]
_CoresOption = Annotated[
    str | None,
    typer.Option(
        metavar="CPUS",
        help="Measure on these cores: the device's, then the generator's, as 2,3.",
    ),
]
_RepetitionsOption = Annotated[
    int, typer.Option(metavar="N", help="Pairs of runs, off and on, of each set.")
]
_DurationOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Of one run, as 2s; default: the experiment's."),
]


def effect(
    knobs: _KnobsArgument,
    spec: _SpecOption = None,
    device: _DeviceOption = None,
    cores: _CoresOption = None,
    repetitions: _RepetitionsOption = 10,
    duration: _DurationOption = None,
    overrides: SetOption = None,
    wait: WaitOption = False,
    as_json: JsonOption = False,
    out: Annotated[Path | None, run_directory_option("runs/effect-TIME")] = None,
) -> None:
    """Turn sets of knobs on and off in turn, and say what that does to packets' latency.

    A knob is a check's id (R24), a remedy's (R24-now), KEY=VALUE (vm.stat_interval=10, or a path
    below /proc/irq or /sys), or cpuset. Commas join knobs that are turned together; each word is a
    set of its own, measured against the host as found.

    Each percentile, and the time stolen from the device, is given off and on with an interval;
    nothing is claimed without one. Every change goes through the journal, is verified in every run
    and taken back, also after Ctrl-C. A run takes about 5 s in each state.
    """
    # Here, not above: `-h` needs none of it.
    from taut.cli.host.effect_job import measure_effect

    changed = [*_LEAN, *(overrides or ()), *core_overrides(cores)]
    measure_effect(
        knobs,
        spec,
        device,
        changed,
        duration=duration,
        repetitions=repetitions,
        wait=wait,
        as_json=as_json,
        out=out,
    )
