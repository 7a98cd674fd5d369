"""What somebody does to a trial while it is measured: nothing, but where taut tests itself."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from taut.experiment.cores import Cores
from taut.experiment.plan import Trial


class Beside(Protocol):
    """Entered and left at fixed points of every trial of a run, by the thread that runs it."""

    def device_ready(
        self, trial: Trial, cores: Cores, device: int | None
    ) -> AbstractContextManager[object]:
        """From before the trace until after it; `device` is its process, None where it has none."""
        ...

    def generating(self, generator: int, raw: Path) -> AbstractContextManager[object]:
        """From when the generator was started until it ended; its records grow in `raw`."""
        ...


class Alone:
    """The null member: a trial is left alone."""

    def device_ready(self, *_: object, **__: object) -> AbstractContextManager[object]:
        return nullcontext()

    def generating(self, *_: object, **__: object) -> AbstractContextManager[object]:
        return nullcontext()


ALONE = Alone()
