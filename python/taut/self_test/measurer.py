"""The self-test of the verdict "measurer": taut-generate itself is stopped while it measures.

It sends to itself over memif: without a device whatever makes a packet late is the measurer.  Each
stop has to be in a gap of the generator's, and packets that were due in it have to be void.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from taut.binaries.inject import InjectRequest
from taut.core.asked import Asked
from taut.core.errors import TautError, TrialError
from taut.core.files import write_json
from taut.experiment import generator
from taut.explain import Explanation, Options, causes, explain_trial
from taut.explain.cause import Injector
from taut.explain.causes import NUMBER
from taut.explain.judge.verdicts import GapVerdicts
from taut.records import parquet
from taut.records.clock import fit_of
from taut.records.convert import PACKETS_FILE, convert_events, convert_trial
from taut.records.documents.json_form import plain
from taut.records.layout import RecordKind
from taut.records.raw_file import open_raw
from taut.records.tables import PACKETS
from taut.self_test.acts import Held, held_of, inside
from taut.self_test.confusion import Confusion, confuse_as
from taut.self_test.late_acts import due_of
from taut.self_test.recording import (
    THRESHOLD_NS,
    Place,
    injected_to_its_end,
    read_acts,
    traced,
    traced_window_ns,
)
from taut.testbed.hugepages import count_near
from taut.testbed.links import LINKS
from taut.testbed.process import Child, child

_OFFERED_PPS = 100_000
"""A stop of 1 ms has a hundred packets due in it."""
_LATE = "500us"
_WARM_UP_NS = 1_000_000_000
_START_TIMEOUT_S = 30.0
_SPARE_NS = 5_000_000_000


def measurer_stall(place: Place, injector: Injector, duration_ns: int, seed: int) -> Confusion:
    """Stop the generator again and again; give what explain made of it."""
    with place.recording(injector.name) as folder:
        return _stalled(place, injector, folder, duration_ns, seed)


def _stalled(
    place: Place, injector: Injector, folder: Path, duration_ns: int, seed: int
) -> Confusion:
    request = InjectRequest(
        injector.act, place.core, folder, injector.per_s, duration_ns, THRESHOLD_NS, seed
    )
    with (
        _generating(place, folder, duration_ns) as (program, asked),
        traced(place, program.pid, folder),
    ):
        injected_to_its_end(replace(request, victim=program.pid))
        program.wait()
    document = generator.read_result(program, folder, asked, _OFFERED_PPS)
    convert_trial(folder, folder)
    convert_events(folder, folder)
    cores = {"generator": place.core}
    trial = {"name": injector.name, "cores": cores, "generator": plain(document)}
    write_json(folder / "trial.json", trial)
    fit = fit_of(open_raw(folder / PACKETS_FILE, RecordKind.PACKET).header)
    acts = inside(read_acts(folder, fit), traced_window_ns(folder, fit))
    found = explain_trial(folder, Options(over=_LATE, is_guest=place.is_guest, every_gap=True))
    held = held_of(found.source.verdicts[0], causes.STOPPED, frozenset())
    verdicts = _as_measurers(found, held, parquet.read_table(folder / PACKETS))
    confusion = confuse_as(injector.name, causes.MEASURER, acts, verdicts, held, 2 * THRESHOLD_NS)
    return replace(confusion, notes=(_packet_words(found),))


@contextmanager
def _generating(place: Place, folder: Path, duration_ns: int) -> Iterator[tuple[Child, Asked]]:
    """Run taut-generate to itself; entered when it sends."""
    place.scope.add_hugepages(generator.HUGEPAGES, count_near(place.core))
    with LINKS["memif"].open_loopback(place.scope, {}) as loop:
        asked: Asked = {
            "tx": loop.tx_port,
            "rx": loop.rx_port,
            "rate": f"{_OFFERED_PPS}pps",
            "frame": "64",
            "schedule": "jittered",
            "duration": f"{duration_ns + _SPARE_NS}ns",
            "warm-up": f"{_WARM_UP_NS}ns",
            "record": "all",
            "core": str(place.core),
            "writer-core": str(place.other_core),
            "out": str(folder),
        }
        argv = generator.command_line(asked)
        log = folder / f"{generator.PROGRAM}.log"
        cores = sorted({place.core, place.other_core})
        with child(generator.PROGRAM, argv, scope=place.scope, log=log, cores=cores) as program:
            _wait_sending(program, folder / PACKETS_FILE)
            yield program, asked


def _wait_sending(program: Child, packets: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not packets.exists() or packets.stat().st_size == 0:
        if not program.alive():
            raise TrialError(f"{program.name}: {program.describe_end()}", program.tail())
        if time.monotonic() > deadline:
            raise TautError(f"{program.name}: sends nothing in {_START_TIMEOUT_S:g} s")
        time.sleep(0.05)


def _as_measurers(found: Explanation, held: Held, packets: pa.Table) -> GapVerdicts:
    """Give the generator's gaps with a stop in them the verdict that their packets have.

    That is "measurer", whatever else was in the gap, unless packets due in it are not void. Other
    gaps keep their cause: this test does not judge them.
    """
    verdicts = found.source.verdicts[0]
    spans, cause = verdicts.spans, verdicts.cause.copy()
    is_stop = (held.own_ns >= 2 * THRESHOLD_NS) & ~spans.is_lost
    cause[is_stop] = NUMBER[causes.MEASURER]
    is_void = due_of(packets).is_void(spans.start_ns, spans.end_ns)
    cause[is_stop & ~is_void] = NUMBER[causes.UNKNOWN]
    return replace(verdicts, cause=cause)


def _packet_words(found: Explanation) -> str:
    by_cause = {total.cause: total.n_packets for total in found.causes}
    n_right = by_cause.get(causes.MEASURER.id, 0)
    return f"{found.n_tail:,} late packets in a loop without a device, measurer: {n_right:,}"
