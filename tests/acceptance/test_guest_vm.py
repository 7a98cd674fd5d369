"""A device in a virtual machine: it forwards, counts, and its stalls are told as whose they are.

One trial, in which taut stops the guest for 20 ms from outside, and a shell in the guest its
forwarder for as long. Emulated or not: nothing here is a latency.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from acceptance_run import TAUT
from stops import stop_for
from taut.analysis.interrupts import BIN_NS, count_interrupts
from taut.experiment import trial as trials
from taut.experiment.beside import Alone
from taut.experiment.cores import Cores
from taut.experiment.plan import Plan, Trial, make_plan
from taut.experiment.runner import measuring
from taut.experiment.spec import parse_spec
from taut.explain import explain_trial
from taut.explain.guest import GUEST, HOST, StallOfGuest, stalls_of_guest
from taut.explain.read.events import read_events
from taut.records.convert import GUEST as FOLDER_OF_GUEST
from taut.records.documents.json_form import read_document
from taut.records.documents.trial import TRIAL_FILE, TrialDocument
from taut.testbed.cleanup import live_runs, run_processes
from taut.testbed.placements import vm
from taut.testbed.scope import default_base
from waiting import wait_for

STALL_S = 0.02
TRIAL_S = 12
"""So long that both stalls lie in it where the machine, or the guest's shell, takes seconds."""
NAP_NS = 100_000_000
SPEC = """
name = "vm"
duration = "{duration}"
warm_up = "100ms"
deadline = "20s"
trace = "continuous"
floor = false

[[placement]]
name = "vm"
options = {{ {options} }}

[[device]]
driver = "taut_forward"
link = "vhost"
options = {{ nf = ["mac_swap"], gap_threshold = "50us", wait = "{wait}" }}

[[traffic]]
rates = ["1kpps"]
"""

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.guest,
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        (missing := vm.VmPlacement().missing(vm.VmOptions())) is not None, reason=str(missing)
    ),
]


class Watched(vm.Guests):
    """The place, which tells that it was entered."""

    inside: "Watched | None" = None

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        Watched.inside = self


@dataclass
class Planted(Alone):
    """Stalls made on purpose while the generator sends, a second apart."""

    at_ns: dict[str, tuple[int, int]] = field(default_factory=dict)

    def device_ready(
        self, trial: Trial, cores: Cores, device: int | None
    ) -> AbstractContextManager[object]:
        del trial, cores
        assert device is not None
        self.qemu = device
        return nullcontext()

    @contextmanager
    def generating(self, generator: int, raw: Path) -> Iterator[None]:
        del generator
        thread = threading.Thread(target=self._plant, args=(raw,))
        thread.start()
        yield
        thread.join()

    def _plant(self, raw: Path) -> None:
        # The last file that is opened before the first packet is due.
        wait_for("the generator's records", (raw / "packets.bin").exists)
        for whose, stall in ((HOST, self._stop_qemu), (GUEST, self._stop_in_guest)):
            time.sleep(1.2)
            start_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            stall()
            self.at_ns[whose] = (start_ns, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))

    def _stop_qemu(self) -> None:
        stop_for(self.qemu, round(STALL_S * 1e9))

    def _stop_in_guest(self) -> None:
        assert Watched.inside is not None
        assert Watched.inside.machine is not None
        Watched.inside.machine.control.must(
            "p=$(cat /run/program); kill -STOP $p; "
            "until grep -q '^State:.T' /proc/$p/status; do :; done; usleep 20000; kill -CONT $p"
        )


@dataclass(frozen=True)
class Measured:
    """The trial, and when the stalls were planted by its packets' clock."""

    folder: Path
    document: TrialDocument
    at_ns: dict[str, tuple[int, int]]
    stalls: list[StallOfGuest]

    def planted(self, whose: str) -> list[StallOfGuest]:
        """Stalls as long as the planted ones that meet the time of one."""
        start_ns, end_ns = self.at_ns[whose]
        return [
            stall
            for stall in self.stalls
            if stall.start_ns < end_ns
            and stall.end_ns > start_ns
            and stall.length_ns >= 0.9 * STALL_S * 1e9
        ]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    out = tmp_path_factory.mktemp("vm") / "run"
    planted = Planted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vm, "Guests", Watched)
        plan = plan_of('parameters = "recommended"', "poll", f"{TRIAL_S}s")
        with measuring(plan, out, beside=planted, wait=True) as session:
            session.run(plan)
    (folder,) = (out / "trials").iterdir()
    document = read_document(TrialDocument, folder / TRIAL_FILE)
    assert document.is_whole, document.failure
    at_ns = {
        whose: tuple(_by_packets(document, moment) for moment in times)
        for whose, times in planted.at_ns.items()
    }
    for whose in (HOST, GUEST):
        assert whose in at_ns, f"no stall was planted as one of {whose}: see the thread's exception"
        start_s, end_s = (round(moment_ns / 1e9, 3) for moment_ns in at_ns[whose])
        said = f"{whose}: planted from {start_s} to {end_s} s of a trial of {TRIAL_S} s"
        assert start_s > 0 and end_s < TRIAL_S, said
    stalls = stalls_of_guest(folder, document)
    assert stalls is not None
    return Measured(folder, document, at_ns, stalls)


def spec_of(options: str, wait: str = "poll", duration: str = "4s") -> str:
    return SPEC.format(options=options, wait=wait, duration=duration)


def plan_of(*of: str, repetitions: int = 1) -> Plan:
    return make_plan(parse_spec(f"repetitions = {repetitions}\n{spec_of(*of)}"))


def _by_packets(document: TrialDocument, mono_raw_ns: int) -> int:
    """Give a time of CLOCK_MONOTONIC_RAW as the trial's records have it."""
    assert document.generator is not None
    said = document.generator.others
    first, hz = said["clock"]["first"], said["clock"]["tsc_hz"]
    epoch_ns = (said["epoch_tsc"] - first["tsc"]) / hz * 1e9
    return round(mono_raw_ns - first["mono_raw_ns"] - epoch_ns)


def test_the_guest_forwards_and_its_counters_agree_with_ours(measured: Measured) -> None:
    generator, stats = measured.document.generator, measured.document.dut.stats

    assert generator is not None and stats is not None and stats.ports is not None
    counters = generator.counters
    assert counters["sent"] > 0
    assert counters["received"] == counters["sent"]
    assert stats.ports[0].rx == counters["sent"]
    assert stats.ports[1].others["tx"] == counters["received"]


def test_what_it_was_stands_in_the_trial(measured: Measured) -> None:
    dut = measured.document.dut

    assert dut.guest is not None and dut.guest.clock is not None
    assert "isolcpus" in dut.guest.parameters
    assert dut.guest.claim in (None, "emulated: no latency claim")
    assert 0 < dut.guest.clock.error_ns < 10_000_000
    assert "guest-audit.json" in {path.name for path in (measured.folder / "logs").iterdir()}
    assert any("audit of the guest" in note for note in dut.notes)


@pytest.mark.parametrize("whose", [HOST, GUEST])
def test_a_planted_stall_is_told_as_whose_it_is(measured: Measured, whose: str) -> None:
    found = measured.planted(whose)

    # On a busy host another stall may meet the same time: one as long, and told rightly, is ours.
    assert whose in {stall.whose for stall in found}, (measured.at_ns, measured.stalls[:10])


def test_the_guests_time_is_the_hosts_within_the_stated_error(measured: Measured) -> None:
    """No log of a guest that stood still has a turn while the host says that it did."""
    guest, cores = measured.document.dut.guest, measured.document.cores
    assert guest is not None and guest.clock is not None and cores is not None
    stall = next(stall for stall in measured.planted(HOST) if stall.whose == HOST)
    start_ns, _ = measured.at_ns[HOST]
    events = read_events(measured.folder)
    assert events is not None
    here = events.take(events.of("switch") & (events.cpu == cores.device))
    # How soon it has its core again after it may is the host's to say.
    here = here.take(here.time_ns > start_ns - 5_000_000)
    # record_format.h: the lower half is the thread, the upper its state; 4 is stopped.
    left = here.time_ns[here.arg0.astype("int64") == guest.cpu_thread | 4 << 32]

    assert stall.start_ns <= left[0] + guest.clock.error_ns
    # Nothing lets it go on sooner. The host's trace cannot say when it did: on some guests a core
    # that idled records no switch.
    assert stall.end_ns >= start_ns + round(STALL_S * 1e9) - guest.clock.error_ns


def test_explain_says_it(measured: Measured) -> None:
    found = explain_trial(measured.folder)
    notes = " ".join(found.notes)
    starts = {stall.start_ns for stall in measured.planted(GUEST) if stall.whose == GUEST}
    gaps = [gap for gap in found.gaps.to_pylist() if gap["start_ns"] in starts]

    assert "the hypervisor's" in notes
    assert "the guest's own" in notes
    assert {gap["cause"] for gap in gaps} == {"unknown"}
    assert all("the guest's own kernel ran" in gap["detail"] for gap in gaps)


def test_its_interrupts_are_counted_beside_the_hosts(measured: Measured) -> None:
    table = count_interrupts(measured.folder, measured.document.trace)
    guest = measured.document.dut.guest
    assert table is not None and guest is not None and guest.clock is not None
    own = [row for row in table.to_pylist() if row["place"] == FOLDER_OF_GUEST]
    # A quiet CPU needs no tick for a second or longer, but one that forwards learns by a reschedule
    # interrupt that its program was stopped.
    error_ns = guest.clock.error_ns
    start_ns, end_ns = measured.at_ns[GUEST]
    stopped = [
        row
        for row in own
        if row["name"] == "reschedule"
        and start_ns - error_ns - BIN_NS < row["start_ns"] <= end_ns + error_ns
    ]

    assert {row["place"] for row in table.to_pylist()} == {"host", FOLDER_OF_GUEST}
    assert {row["cpu"] for row in own} == {guest.cpu}
    assert stopped, (measured.at_ns, own)


def test_a_device_sleeps_until_its_card_interrupts_trial_after_trial(tmp_path: Path) -> None:
    plan = plan_of('parameters = "recommended"', "interrupt", "2s", repetitions=2)

    with measuring(plan, tmp_path / "run", wait=True) as session:
        session.run(plan)

    folder, other = sorted((tmp_path / "run/trials").iterdir())
    document = read_document(TrialDocument, folder / TRIAL_FILE)
    assert document.is_whole, document.failure
    assert read_document(TrialDocument, other / TRIAL_FILE).is_whole
    report = json.loads((folder / "logs/taut-forward.json").read_text())
    assert document.generator is not None
    sent, received = (document.generator.counters[name] for name in ("sent", "received"))
    assert 0 < sent == received == report["ports"][0]["rx"]
    # How often, and for how much of the time, is for the host to say. But a nap that nothing ends
    # lasts so long at least (forwarder/wait.h), and one alone may have ended by the signal to stop.
    asleep = report["sleep"]
    assert 0 < asleep["total_ns"] < (asleep["n"] - 1) * NAP_NS


def test_a_guest_that_does_not_boot_shows_its_console(tmp_path: Path) -> None:
    spec = tmp_path / "vm.toml"
    spec.write_text(spec_of('parameters = "rdinit=/nowhere"'))

    done = subprocess.run(
        [*TAUT, "run", str(spec), "--out", str(tmp_path / "run"), "--no-report", "--wait"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    (folder,) = (tmp_path / "run" / "trials").iterdir()
    failure = read_document(TrialDocument, folder / TRIAL_FILE).failure
    assert failure is not None and failure.reason.startswith("guest: it did not boot")
    assert "Kernel panic" in failure.reason
    assert "\n" not in failure.reason
    assert any("panic" in line for line in failure.log_tail)


def test_nothing_is_left_of_a_guest_after_kill_9(tmp_path: Path) -> None:
    spec = tmp_path / "vm.toml"
    spec.write_text(spec_of('kernel = "cloud", parameters = "none"'))
    taut = subprocess.Popen(
        [*TAUT, "run", str(spec), "--out", str(tmp_path / "run"), "--no-report", "--wait"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    console = f"trials/*/{trials.LOGS}/guest-console.log"

    def is_up() -> bool:
        found = (tmp_path / "run").glob(console.replace("*", ".tmp-*"))
        return any("taut-guest" in path.read_text(errors="replace") for path in found)

    wait_for("a guest that has come up", is_up, 120)
    (run_id,) = [owner.run_id for owner in live_runs(default_base()) if owner.pid == taut.pid]
    taut.kill()
    taut.wait()
    said = subprocess.run(
        [sys.executable, "-m", "taut.cli.main", "doctor", "--clean"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert not (default_base() / run_id).exists(), said.stdout
    assert not run_processes(run_id)
