"""What is asked of a device: `p99.99 < 25us`, `loss = 0`, `within(1ms) >= 99.999%`.

| written | what is compared |
|---|---|
| `pNN.N`, `max`, `min` | service latency of the packets that came back |
| `loss` | share of the packets sent that never came back: `0`, `0.001%` or `1e-5` |
| `within(D)` | share of the packets sent that came back within D: a lost one did not |
| `window(E..L)` | the same within L, and took no less than E: it was neither early nor late |
| `in_a_row(D)` | most packets one after the other that were lost or took longer than D |
| `outage(D)` | longest time from when such a packet was due to when the next in time was |

Behind each may stand `for 12h`: less than that was measured says nothing.  Packets of the warm-up
do not count. Those that the link refused do not either, but what counts lost packets does not pass
where they could decide.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from taut.core.errors import InputError
from taut.core.units import format_ns, parse_duration_ns, parse_share

WITH_DEADLINE = {"within": "1ms", "window": "10us..1ms", "in_a_row": "1ms", "outage": "1ms"}
"""What takes a deadline, and an example of it."""

_OPERATORS = {
    "p": ("<", "<="),
    "max": ("<", "<="),
    "min": (">", ">="),
    "loss": ("=", "<", "<="),
    "within": (">", ">="),
    "window": (">", ">="),
    "in_a_row": ("=", "<", "<="),
    "outage": ("<", "<="),
}
_FORM = re.compile(
    r"(p[0-9]{1,2}(?:\.[0-9]{1,9})?|[a-z_]+) *(?:\(([^()]*)\))? *(<=|>=|<|>|=) *(.*?)"
    r"(?: +for +(.*))?"
)
_WRITE = 'write "p99.99 < 25us", "loss = 0" or "within(1ms) >= 99.999%"'


@dataclass(frozen=True)
class Requirement:
    """One thing that is asked of every device under every load."""

    text: str
    """As it was written."""
    what: str
    """p, max, min, loss, within, window, in_a_row or outage."""
    operator: str
    limit: float
    """ns; of loss, within and window a share, 0 to 1; of in_a_row packets."""
    share_above: float = 0.0
    """Of p, within and window: the share of packets that may fail, 0 to 1; 0: none may."""
    deadline_ns: int | None = None
    earliest_ns: int = 0
    """Of window: what took less came too early."""
    least_ns: int = 0
    """How long must have been measured."""

    @property
    def latest_ns(self) -> float:
        """The latency up to which packets must be told apart, in ns; 0: none is asked for."""
        return self.limit if self.what in ("p", "max") else float(self.deadline_ns or 0)

    @property
    def is_strict(self) -> bool:
        """Whether the limit itself is too much."""
        return self.operator in ("<", ">")


def parse_requirement(text: str) -> Requirement:
    """Read one requirement; InputError where it is none."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise _refused(text, f"not a requirement; {_WRITE}")
    name, deadline, operator, limit, least = match.groups()
    what = "p" if re.fullmatch(r"p[0-9.]+", name) else name
    if what not in _OPERATORS:
        raise _refused(text, f"{name!r} is not known; {_WRITE}")
    if operator not in _OPERATORS[what]:
        raise _refused(text, f"{name} goes with {' or '.join(_OPERATORS[what])}")
    if (deadline is None) is (what in WITH_DEADLINE):
        how = f"{name}({WITH_DEADLINE[what]})" if what in WITH_DEADLINE else name
        raise _refused(text, f"write {how} {operator} ...")
    try:
        found = _read(text, name, what, operator, limit)
        if deadline is not None:
            found = _with_deadline(found, deadline)
        return replace(found, least_ns=0 if least is None else parse_duration_ns(least))
    except InputError as error:
        raise _refused(text, str(error)) from error


def refuse_beyond(asked: Iterable[Requirement], deadline_ns: int) -> None:
    """InputError: one asks of latencies beyond those that a trial waited for."""
    for one in asked:
        if one.latest_ns > deadline_ns:
            raise _refused(
                one.text,
                f"what takes longer than the deadline of {format_ns(deadline_ns)} counts as lost; "
                "measure with a longer deadline, or ask for less",
            )


def _with_deadline(found: Requirement, text: str) -> Requirement:
    earliest, dots, latest = text.rpartition("..")
    if bool(dots) is not (found.what == "window"):
        raise InputError(f"{text!r}: write {found.what}({WITH_DEADLINE[found.what]})")
    found = replace(found, deadline_ns=parse_duration_ns(latest))
    if not dots:
        return found
    found = replace(found, earliest_ns=parse_duration_ns(earliest))
    if found.earliest_ns >= (found.deadline_ns or 0):
        raise InputError(f"{text!r}: the window ends before it begins")
    return found


def _read(text: str, name: str, what: str, operator: str, limit: str) -> Requirement:
    made = Requirement(text.strip(), what, operator, 0.0)
    if what in ("p", "max", "min", "outage"):
        share = float(1 - Decimal(name[1:]) / 100) if what == "p" else 0.0
        if share == 1:
            raise InputError('p0 asks for nothing; write "min >= 3us"')
        return replace(made, limit=float(parse_duration_ns(limit)), share_above=share)
    if what == "in_a_row":
        if not re.fullmatch("[0-9]{1,9}", limit) or (operator == "=" and int(limit)):
            raise InputError(f"{limit!r}: write in_a_row(1ms) <= 3, a number of packets")
        return replace(made, limit=float(limit))
    asked = parse_share(limit)
    if operator == "=" and asked:
        raise InputError('only none can be asked for exactly; write "loss = 0" or "loss < 0.1%"')
    share = round(1 - asked, 15) if what in ("within", "window") else asked
    if share == 1:
        raise InputError(f"{limit!r} asks for nothing, every packet may fail; {_WRITE}")
    return replace(made, limit=asked, share_above=share)


def _refused(text: str, why: str) -> InputError:
    return InputError(f"requirement {text!r}: {why}")
