"""A trial's kernel events, and what belongs to them."""

from dataclasses import dataclass

from taut.explain.read.events import Events, TraceNotes
from taut.explain.read.senders import Senders
from taut.explain.walk.calibrate import Calibration


@dataclass(frozen=True)
class Traced:
    """The parts of a trial's trace that a device is judged by which keeps no log, or sleeps."""

    events: Events
    notes: TraceNotes
    senders: Senders
    calibration: Calibration
    is_guest: bool | None
