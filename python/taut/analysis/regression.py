"""When a comparison fails a pipeline: `--fail-if "p99 > +10%"`.

It fails only where the whole interval of the change lies beyond what is allowed: what chance may
have made is no regression.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from taut.analysis.compare import Comparison
from taut.analysis.difference import percent
from taut.analysis.load import load_words
from taut.core.errors import InputError
from taut.core.percentiles import PERCENTILES

_JUDGED = ("mean", *PERCENTILES)

_FORM = re.compile(r"([a-z][a-z0-9.]*) *> *\+([0-9]{1,6}(?:\.[0-9]{1,6})?) *%")


@dataclass(frozen=True)
class FailIf:
    """A figure may grow by so much, not more."""

    figure: str
    share: float
    """Of its value in the first run, 0.1 for ten per cent."""


def parse_fail_if(text: str) -> FailIf:
    """Read `p99 > +10%`; InputError where it is not that."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InputError(f'--fail-if {text!r}: not a figure and a growth; write "p99 > +10%"')
    if match[1] not in _JUDGED:
        known = ", ".join(_JUDGED)
        raise InputError(f"--fail-if {text!r}: {match[1]!r} is not compared; these are: {known}")
    return FailIf(match[1], float(match[2]) / 100)


def regressions(comparison: Comparison, rules: Sequence[FailIf]) -> Iterator[str]:
    """Say which devices became slower than the rules allow, beyond chance."""
    for pair in comparison.pairs:
        for rule in [] if pair.a.is_floor else rules:
            for found in pair.differences:
                interval = found.improvement_interval
                if found.name == rule.figure and interval and -interval[1] > rule.share:
                    low, high = (percent(-side) for side in reversed(interval))
                    where = f"{pair.label}, {load_words(pair.a.load)}"
                    allowed = f"+{100 * rule.share:g} % allowed"
                    yield f"{where}: {rule.figure} {low} to {high} %, {allowed}"
