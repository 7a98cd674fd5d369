"""A hook around each trial while it is measured: the acts of the self-test, the rows of a soak."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from taut.experiment.cores import Cores
from taut.experiment.plan import Trial


class Beside(Protocol):
    """Context managers that the thread which runs a trial enters and leaves at fixed points."""

    def device_ready(
        self, trial: Trial, cores: Cores, device: int | None
    ) -> AbstractContextManager[object]:
        """Lasts from before the trace until after it; `device`: a process id, None: it has none."""
        ...

    def generating(self, generator: int, raw: Path) -> AbstractContextManager[object]:
        """Lasts from the generator's start until its end; its records grow in the folder `raw`."""
        ...

    @property
    def ends_early(self) -> bool:
        """Whether it told the generator to end; what was measured until then counts."""
        ...


class Alone:
    """The null member: a trial is left alone."""

    def device_ready(self, *_: object, **__: object) -> AbstractContextManager[object]:
        return nullcontext()

    def generating(self, *_: object, **__: object) -> AbstractContextManager[object]:
        return nullcontext()

    @property
    def ends_early(self) -> bool:
        return False


ALONE = Alone()
