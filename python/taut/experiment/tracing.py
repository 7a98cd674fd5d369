"""taut-trace beside a trial: what the kernel does on the cores of generator and device."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from taut.core.binaries import find_binary
from taut.core.cpus import format_cpu_list
from taut.core.errors import TrialError
from taut.experiment.cores import Cores
from taut.testbed.process import Child, child
from taut.testbed.scope import RunScope

PROGRAM = "taut-trace"
_ARMED = "armed$"


@contextmanager
def traced(
    cores: Cores, device: int | None, raw: Path, logs: Path, scope: RunScope
) -> Iterator[Child]:
    """Record events.bin into `raw` from when the block is entered until `finish`.

    Arming patches code on every core: enter it before the generator starts. `device` is its
    process, whose page faults and system calls are recorded too.
    """
    argv = [str(find_binary(PROGRAM)), "--out", str(raw)]
    argv += ["--cores", format_cpu_list({cores.generator, cores.device})]
    if device is not None:
        argv += ["--threads", ",".join(map(str, _threads(device)))]
    with child(
        PROGRAM, argv, scope=scope, log=logs / f"{PROGRAM}.log", cores=[cores.runner]
    ) as tracer:
        tracer.wait_ready(_ARMED)
        yield tracer


def finish(tracer: Child) -> None:
    """Stop it and have it write what is left; TrialError if it failed."""
    if tracer.stop(signal.SIGTERM, timeout_s=60.0) != 0:
        raise TrialError(f"{PROGRAM}: {tracer.describe_end()}", tracer.tail())


def _threads(process: int) -> Sequence[int]:
    try:
        return sorted(int(path.name) for path in Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return [process]
