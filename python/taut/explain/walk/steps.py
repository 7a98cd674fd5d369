"""Who had each moment in which a kernel device stood still: the steps of docs/attribution.md."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from taut.explain import causes
from taut.explain.arrays import AFTER_ALL, BEFORE_ALL, Ints, Mask, at_or
from taut.explain.cause import Cause
from taut.explain.read.events import KIND, Events
from taut.explain.read.names import Names, softirq_name
from taut.explain.read.senders import Senders
from taut.explain.walk.contexts import of_call, of_vector, sent_by
from taut.explain.walk.layers import (
    IDLE,
    NET_RX,
    SENT_WITHIN_NS,
    Layer,
    Layers,
    interrupts_sent,
    is_delivery,
    is_of_core,
    network_threads,
    sleeps_deeply,
)
from taut.explain.walk.network_runs import HeldStretches
from taut.explain.walk.segments import SegmentLists, Segments

_APART_NS = 100_000
"""Interrupts closer together than this may have waited for the same vCPU to come back."""


class Step(IntEnum):
    """Who had the core, an inner one over an outer."""

    OWN = 0  # the packet's own way: no cause
    OFF = 1  # a thread ran on, though the network softirq was raised
    IDLE = 2
    ASLEEP = 3  # ksoftirqd or a NAPI thread slept inside a softirq (PREEMPT_RT: on a lock)
    WAIT = 4  # ksoftirqd or a NAPI thread was to run, and another thread did
    FOREIGN = 5  # the network softirq, with packets of others
    SOFTIRQ = 6
    INTERRUPT = 7
    CALL = 8
    NMI = 9


@dataclass(frozen=True)
class Work:
    """What the runs of the network softirq handled."""

    runs: Layer
    foreign: Ints
    """Packets that are not the trial's, by run."""
    per_packet_ns: int
    """The ns that a run needs for one packet of the trial."""


@dataclass(frozen=True)
class Scene:
    """All that was recorded of the device's core."""

    holds: HeldStretches
    layers: Layers
    work: Work
    events: Events
    core: int
    names: Names
    senders: Senders
    is_guest: bool | None
    smi: int | None
    """System management interrupts during the trace; None: not counted."""


def paint(scene: Scene) -> Segments:
    """Give every moment of every hold to the step that had it."""
    own_from = _own_from(scene)
    start, end, hold = _moments(scene, own_from)
    step, index = _steps(scene, start, hold, own_from)
    return _segments(scene, (start, end, hold), step, index)


def _own_from(scene: Scene) -> Ints:
    """Give when each run began with the trial's packets; those of others came before them."""
    holds, work = scene.holds, scene.work
    if not len(work.runs):
        return holds.served_ns
    own = holds.end_ns - holds.n_packets * work.per_packet_ns
    has_others = work.foreign[holds.run] > 0
    return np.where(has_others, np.maximum(own, holds.served_ns), holds.served_ns)


def _moments(scene: Scene, own_from: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut the holds wherever anything changes."""
    holds = scene.holds
    bounds = [holds.start_ns, holds.served_ns, own_from]
    for layer in scene.layers.all:
        bounds += [layer.start_ns, layer.end_ns]
    points = np.concatenate(bounds)
    points = np.unique(np.concatenate([points[holds.of(points) >= 0], holds.end_ns]))
    hold = holds.of(points[:-1])
    held = hold >= 0
    return points[:-1][held], points[1:][held], hold[held]


def _steps(scene: Scene, start: Ints, hold: Ints, own_from: Ints) -> tuple[Ints, Ints]:
    """The step of each moment, and which interval of its layer it is a part of."""
    layers, holds = scene.layers, scene.holds
    nmi, call, interrupt, softirq, turn, wait = (layer.at(start) for layer in layers.all)
    thread = at_or(layers.who, turn, -1)
    whose = at_or(scene.events.thread[layers.softirq.row], softirq, -1)
    is_off = (thread != whose) & _began_inside(layers, turn, softirq)
    softirq = np.where(is_off, -1, softirq)
    is_held = (start < holds.served_ns[hold]) & (turn >= 0)
    network = network_threads(scene.names, scene.core)
    is_net = at_or(scene.events.arg0[layers.softirq.row] == NET_RX, softirq, False)
    has_others = scene.work.foreign[holds.run[hold]] > 0 if len(scene.work.runs) else is_net
    others = is_net & has_others & (start < own_from[hold])
    calls = _calls(scene)
    painted = (
        (Step.OFF, turn, is_held & (start >= _off_from(scene, calls)[hold]) & (thread > 0)),
        (Step.IDLE, turn, is_held & (thread == IDLE) & _asleep(scene)[hold]),
        (Step.ASLEEP, turn, is_off & np.isin(whose, network)),
        (Step.WAIT, turn, (is_held | is_off) & (thread > 0) & (wait >= 0)),
        (Step.OWN, turn, np.isin(thread, network)),
        (Step.SOFTIRQ, softirq, softirq >= 0),
        (Step.OWN, softirq, is_net),
        (Step.FOREIGN, holds.run[hold], others),
        (Step.INTERRUPT, interrupt, interrupt >= 0),
        (Step.OWN, interrupt, at_or(calls.delivers, interrupt, False)),
        (Step.CALL, call, call >= 0),
        (Step.OWN, call, at_or(calls.is_delivery, call, False)),
        (Step.NMI, nmi, nmi >= 0),
    )
    step, index = np.zeros(len(start), np.int64), np.full(len(start), -1)
    for which, owner, mask in painted:
        step[mask], index[mask] = which, owner[mask]
    return step, index


def _began_inside(layers: Layers, turn: Ints, softirq: Ints) -> Mask:
    """Mark the moments in a turn that began inside the softirq of that moment.

    With PREEMPT_RT a softirq may lose the core to another thread; otherwise no switch is inside.
    """
    began = at_or(layers.thread.start_ns, turn, BEFORE_ALL)
    inside: Mask = began >= at_or(layers.softirq.start_ns, softirq, AFTER_ALL)
    return inside


@dataclass(frozen=True)
class _Calls:
    """Function calls and the interrupts that carried them."""

    is_delivery: Mask  # by call
    delivers: Mask  # by interrupt
    of_interrupt: Ints  # the first other call in each interrupt, -1: none


def _calls(scene: Scene) -> _Calls:
    layers = scene.layers
    delivery = is_delivery(scene.events, scene.names)[layers.call.row]
    inside = layers.interrupt.at(layers.call.start_ns)
    delivers = np.zeros(len(layers.interrupt), bool)
    delivers[inside[delivery & (inside >= 0)]] = True
    of_interrupt = np.full(len(layers.interrupt), -1)
    other = np.flatnonzero(~delivery & (inside >= 0))
    of_interrupt[inside[other[::-1]]] = other[::-1]
    return _Calls(delivery, delivers, of_interrupt)


def _off_from(scene: Scene, calls: _Calls) -> Ints:
    """Give when softirqs, or interrupts, were off in each hold; AFTER_ALL where nothing shows it.

    An interrupt runs the raised softirqs when it ends, unless another one is waiting: so one alone
    proves nothing, and two apart from each other do. On bare metal nobody but firmware can have had
    a core that was awake.
    """
    holds, layers = scene.holds, scene.layers
    if scene.is_guest is False and not scene.smi:
        return holds.start_ns
    raised = layers.call.end_ns[calls.is_delivery]
    since = np.append(raised, AFTER_ALL)[np.searchsorted(raised, holds.start_ns)]
    plain = np.append(layers.interrupt.start_ns[~calls.delivers], AFTER_ALL)
    first = plain[np.searchsorted(plain, since)]
    last = plain[np.maximum(np.searchsorted(plain, holds.served_ns) - 1, 0)]
    proved = (last < holds.served_ns) & (last > first) & (last - first > _APART_NS)
    return np.where(proved, since, AFTER_ALL)


def _asleep(scene: Scene) -> Mask:
    """Mark the holds before which the core slept, if it was idle.

    Its state of idle says so, if that is known. A core that polls while idle is told without an
    interrupt. A core that was sent an interrupt since it last did anything slept. Where sendings
    were not recorded, it is taken for asleep.
    """
    sent = interrupts_sent(scene.events, scene.core)
    holds = scene.holds
    if not len(sent):
        return np.ones(len(holds), bool)
    own = scene.events.time_ns[is_of_core(scene.events, scene.core)]
    last = np.append(own, AFTER_ALL)[np.maximum(np.searchsorted(own, holds.start_ns) - 1, 0)]
    before = np.searchsorted(sent, np.minimum(last, holds.start_ns))
    until = np.minimum(holds.start_ns + SENT_WITHIN_NS, holds.served_ns)
    asleep: Mask = np.searchsorted(sent, until) > before
    return asleep | sleeps_deeply(scene.events, scene.core, holds.start_ns)


def _segments(scene: Scene, moments: tuple[Ints, Ints, Ints], step: Ints, index: Ints) -> Segments:
    """Make segments of moments; those of one interval in one hold are one visit."""
    calls = _calls(scene)
    out = SegmentLists()
    visits: dict[tuple[int, int, int], int] = {}
    owned = step != Step.OWN
    columns = (*moments, step, index)
    for start, end, hold, which, at in zip(*(c[owned].tolist() for c in columns), strict=True):
        visit = visits.get((hold, which, at))
        if visit is None:
            visit = visits[hold, which, at] = out.open(hold)
            out.close(visit, *_tell(scene, calls, Step(which), at))
        out.add(hold, start, end, visit)
    return out.freeze()


def _tell(scene: Scene, calls: _Calls, step: Step, at: int) -> tuple[Cause, str, str, int, bool]:
    """Give cause, entry class, details, thread that caused it (-1), and whether that is proved."""
    layers, events, names = scene.layers, scene.events, scene.names
    if step is Step.IDLE:
        return causes.IDLE_EXIT, "none", "", -1, False
    if step is Step.ASLEEP:
        return causes.UNKNOWN, "none", "what handles packets slept inside a softirq", -1, False
    if step in (Step.WAIT, Step.OFF):
        thread = int(layers.who[at])
        cause = causes.KSOFTIRQD_WAIT if step is Step.WAIT else causes.SOFTIRQS_OFF
        return cause, "none", f"{names.thread(thread)} ran", thread, False
    if step is Step.FOREIGN:
        return (
            causes.SOFTIRQ,
            "none",
            f"NET_RX, {scene.work.foreign[at]} packets of others",
            -1,
            False,
        )
    if step is Step.SOFTIRQ:
        number = int(events.arg0[layers.softirq.row[at]])
        return causes.SOFTIRQ, "none", softirq_name(number), -1, False
    if step is Step.NMI:
        return causes.NMI, "nmi", names.function(int(events.arg0[layers.nmi.row[at]])), -1, False
    if step is Step.CALL:
        return _tell_call(scene, at, "none")
    return _tell_interrupt(scene, calls, at)


def _tell_call(scene: Scene, at: int, entry: str) -> tuple[Cause, str, str, int, bool]:
    row = int(scene.layers.call.row[at])
    cause, what = of_call(scene.names.function(int(scene.events.arg1[row])))
    return cause, entry, *_sent_by(scene, row, what)


def _sent_by(scene: Scene, row: int, what: str) -> tuple[str, int, bool]:
    return sent_by(scene.events, scene.names, int(scene.senders.of[row]), what)


def _tell_interrupt(scene: Scene, calls: _Calls, at: int) -> tuple[Cause, str, str, int, bool]:
    """Describe an interrupt; one that carried a call counts as that call."""
    row = int(scene.layers.interrupt.row[at])
    number = int(scene.events.arg0[row])
    if int(scene.events.kind[row]) == KIND["irq_entry"]:
        return causes.DEVICE_IRQ, "irq", scene.names.irq(number), -1, False
    cause, entry, detail = of_vector(number)
    if calls.of_interrupt[at] >= 0:
        return _tell_call(scene, int(calls.of_interrupt[at]), entry)
    if cause is causes.RESCHEDULE:
        return cause, entry, *_sent_by(scene, row, detail)
    return cause, entry, detail, -1, False
