"""What the runner tells while it works; cli/progress.py shows it."""

from typing import Protocol

from taut.experiment.plan import Plan, Trial
from taut.experiment.quick_figures import QuickFigures
from taut.records.documents.trial import TrialDocument


class Progress(Protocol):
    """Called from the runner's thread; at most every ten seconds during a trial."""

    def started(self, plan: Plan, n_done: int) -> None:
        """The run begins; `n_done` of its trials are whole from before a resume."""
        ...

    def warned(self, text: str) -> None:
        """Something the reader of the results should know."""
        ...

    def noted(self, text: str) -> None:
        """A fact of this run that its user wants to see: which core does what."""
        ...

    def trial_started(self, trial: Trial) -> None: ...

    def ticked(self) -> None:
        """Some seconds of the trial went by."""
        ...

    def trial_finished(
        self, trial: Trial, document: TrialDocument, figures: QuickFigures | None
    ) -> None:
        """A trial ended and has its folder; `figures` has its figures, None if it failed."""
        ...


class Silent:
    """Says nothing: tests, and the null member."""

    def started(self, plan: Plan, n_done: int) -> None:
        pass

    def warned(self, text: str) -> None:
        pass

    def noted(self, text: str) -> None:
        pass

    def trial_started(self, trial: Trial) -> None:
        pass

    def ticked(self) -> None:
        pass

    def trial_finished(
        self, trial: Trial, document: TrialDocument, figures: QuickFigures | None
    ) -> None:
        pass
