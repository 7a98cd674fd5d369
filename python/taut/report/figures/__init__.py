"""The figures in the order of the report. To add one: a file here and a line in _OURS.

Those of plug-ins stand behind.
"""

from taut.core.plugins import Family
from taut.report.figure import Figure, Guarded
from taut.report.figures.bounds import BoundsClosingIn
from taut.report.figures.cpu import LatencyAgainstCpu
from taut.report.figures.energy import LatencyAgainstPower
from taut.report.figures.histogram import Histogram
from taut.report.figures.improvement import Improvement
from taut.report.figures.inter_arrival import InterArrival
from taut.report.figures.inter_departure import InterDeparture
from taut.report.figures.interrupts import InterruptsBesideLatency
from taut.report.figures.percentiles import Percentiles
from taut.report.figures.rate import LatencyAgainstRate
from taut.report.figures.repetitions import Repetitions
from taut.report.figures.tail_by_cause import TailByCause
from taut.report.figures.trimmed import TrimmedPercentiles
from taut.report.figures.worst_over_time import WorstOverTime

_OURS: tuple[Figure, ...] = (
    BoundsClosingIn(),
    TrimmedPercentiles(),
    Improvement(),
    Percentiles(),
    TailByCause(),
    Histogram(),
    WorstOverTime(),
    InterruptsBesideLatency(),
    LatencyAgainstRate(),
    LatencyAgainstCpu(),
    LatencyAgainstPower(),
    Repetitions(),
    InterDeparture(),
    InterArrival(),
)

FAMILY = Family("taut.figures", Figure, _OURS, lambda figure: figure.id)

FIGURES: tuple[Figure, ...] = (*_OURS, *(Guarded(figure) for figure in FAMILY.added().values()))
