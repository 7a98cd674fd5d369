"""Virtual machines in a row: each packet passes every guest, and the switch between them."""

from pathlib import Path

import pytest

from taut.dut.drivers.chain import ChainDriver, ChainOptions
from taut.dut.open_vswitch import Switch
from taut.experiment.plan import make_plan
from taut.experiment.runner import measuring
from taut.experiment.spec import parse_spec
from taut.records.documents.json_form import read_document
from taut.records.documents.trial import TRIAL_FILE, TrialDocument
from taut.testbed.placements.vm import VmOptions, VmPlacement

N_HOPS = 2
SWITCHED = ChainOptions(switch="ovs_dpdk")
SPEC = """
name = "row"
duration = "1s"
warm_up = "100ms"
deadline = "20s"
floor = false
trace = "off"

[[device]]
driver = "chain"
link = "memif"
placement = "vm"
options = { hops = [{ nf = ["mac_swap"] }, { nf = ["skeleton"] }], switch = "ovs_dpdk" }

[[traffic]]
rates = ["200pps"]
"""

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.guest,
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        (missing := VmPlacement().missing(VmOptions()) or ChainDriver().missing(SWITCHED))
        is not None,
        reason=str(missing),
    ),
]


def test_each_packet_passes_every_guest_and_the_switch_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, ask, answered = make_plan(parse_spec(SPEC)), Switch.ask, []

    def note(switch: Switch, *command: str) -> str:
        said = ask(switch, *command)
        answered.append(command)
        return said

    monkeypatch.setattr(Switch, "ask", note)

    with measuring(plan, tmp_path / "run", wait=True) as session:
        session.run(plan)

    (folder,) = (tmp_path / "run/trials").iterdir()
    document = read_document(TrialDocument, folder / TRIAL_FILE)
    assert document.is_whole, document.failure
    dut, generator = document.dut, document.generator
    assert generator is not None and dut.hops is not None
    sent, received = (generator.counters[name] for name in ("sent", "received"))
    assert 0 < sent == received
    ports = [hop.stats.ports for hop in dut.hops if hop.stats is not None and hop.stats.ports]
    assert [rx.rx for rx, _ in ports] == [sent] * N_HOPS
    if dut.stats is not None:
        assert dut.stats.others["in"] == (N_HOPS + 1) * sent
    else:
        # DPDK 22.11's memif port can end its program as the generator leaves: the trial says so.
        # One that has answered since dies of something else, as of what it is asked.
        missing = "switch died by signal 11 after the measurement; its counters are missing"
        assert (dut.died, answered) == (missing, [])
    assert dut.guest is not None
    assert dut.guest.claim in (None, "emulated: no latency claim")
    consoles = {path.name for path in (folder / "logs").glob("*-guest-console.log")}
    assert consoles == {f"hop{n + 1}-guest-console.log" for n in range(N_HOPS)}
