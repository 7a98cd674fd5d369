"""Trials of programs that are made up: which starts where and when, and what is judged of them.

Nothing sends a packet: the generator sleeps.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from taut.core.cpus import cpuset_cores
from taut.core.errors import TrialError
from taut.dut.drivers import chain
from taut.dut.hop_ports import PortsOfHop
from taut.dut.process_dut import ProcessDut
from taut.experiment.cores import Cores
from taut.experiment.plan import Plan, make_plan
from taut.experiment.restart import BEFORE
from taut.experiment.runner import pinned_to
from taut.experiment.spec import parse_spec
from taut.experiment.stored import TrialSoFar, trial_document
from taut.experiment.trial import Testbench
from taut.testbed import neighbour
from taut.testbed.process import child
from taut.testbed.scope import RunScope

TEXT = """
name = "made"
duration = "1s"
repetitions = 1
trace = "off"
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["10kpps"]
"""
CLOCK = "#!/bin/sh\necho '{\"usable\": true}'\n"
FORWARDER = '#!/bin/sh\necho "$@"\necho "taut-forward: ready"\nexec sleep 1000\n'
FAILING = "#!/bin/sh\nsleep 1\necho 'taut-generate: made to fail'\nexit 1\n"
GENERATOR = f"""#!{sys.executable}
import json, sys, time
from pathlib import Path

words, understood = sys.argv[1:], {{"both": False, "device-holds": False}}
while words:
    name = words.pop(0).removeprefix("--")
    is_alone = not words or words[0].startswith("--")
    understood[name] = True if is_alone else words.pop(0)
time.sleep(1)
report = {{"counters": {{}}, "understood": understood, "rate_pps": 10_000.0}}
(Path(understood["out"]) / "generator.json").write_text(json.dumps(report))
"""
STARVED = f"""#!{sys.executable}
import os, sys, time

if "--version" in sys.argv:
    sys.exit()
while time.process_time() < 0.1:
    pass
if os.fork() == 0:
    time.sleep(1000)
os.wait()
"""
"""Takes 0.1 s of its core before its worker is there, and nothing after."""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of taut's programs, and the first in which others are looked for."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("TAUT_BIN_DIR", str(folder))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    program(folder / "taut-clock", CLOCK)
    program(folder / "taut-forward", FORWARDER)
    return folder


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def bench_of(plan: Plan, scope: RunScope, cores: Cores) -> Testbench:
    return Testbench(plan, scope, cores, lambda: None)


@pytest.mark.parametrize(("option", "version"), [('version = "1.2"', "1.2"), ("", "unknown")])
def test_results_have_the_version_that_a_command_is_said_to_be(option: str, version: str) -> None:
    device = f'driver = "command"\n[device.options]\nargv = ["true"]\n{option}'
    plan = make_plan(parse_spec(TEXT.replace('driver = "taut_forward"', device)))
    [trial] = [trial for trial in plan.trials if not trial.device.is_floor]

    document = trial_document(trial, Cores(generator=0, device=0, writer=0, runner=0))

    assert document.dut.version == version


def test_what_a_neighbour_did_before_the_generator_began_proves_nothing(
    programs: Path, scope: RunScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its worker may begin late, and on a slow machine take some ms until it sleeps; 0.1 s is 8 %.
    monkeypatch.setattr(neighbour, "_LEAST_SHARE", 0.04)
    program(programs / "taut-generate", GENERATOR)
    program(programs / "stress-ng", STARVED)
    plan = make_plan(parse_spec(f'{TEXT}[[neighbour]]\nkind = "cache"\n'))
    [trial] = [trial for trial in plan.trials if trial.device.is_floor]
    core = min(cpuset_cores())
    cores = Cores(generator=core, device=core, writer=core, runner=core)
    known = TrialSoFar(trial_document(trial, cores))

    with pytest.raises(TrialError, match=r"neighbour 'cache': took .* ms of its cores in \d"):
        bench_of(plan, scope, cores).measure(trial, tmp_path / "trial", known)


@pytest.mark.skipif(len(cpuset_cores()) < 2, reason="needs two cores")
def test_a_device_that_is_started_again_leaves_its_log_of_gaps_to_tauts_core(
    programs: Path, scope: RunScope, tmp_path: Path
) -> None:
    program(programs / "taut-generate", FAILING)
    plan = make_plan(parse_spec(TEXT))
    [trial] = [trial for trial in plan.trials if not trial.device.is_floor]
    restarted = trial.traffic.model_copy(update={"restart_ns": 1_000_000})
    trial = replace(trial, traffic=restarted)
    own, *_, device = cpuset_cores()
    cores = Cores(generator=own, device=device, writer=own, runner=own)
    known = TrialSoFar(trial_document(trial, cores))

    with pinned_to(own), pytest.raises(TrialError, match="made to fail"):
        bench_of(plan, scope, cores).measure(trial, tmp_path / "trial", known)

    for name in (f"{BEFORE}taut-forward.log", "taut-forward.log"):
        words = (tmp_path / "trial/logs" / name).read_text().splitlines()[0].split()
        assert ("--core", str(device)) in pairwise(words)
        assert ("--writer-core", str(own)) in pairwise(words)


def test_a_switch_that_dies_ends_the_trial(
    programs: Path, scope: RunScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies while the generator, which looks at nothing, still sends and ends with the trial."""
    sends = tmp_path / "sends"
    program(programs / "taut-generate", f"#!/bin/sh\ntouch {sends}\nexec sleep 60\n")
    dies = f"until test -e {sends}; do sleep 0.05; done; sleep 0.2; echo made to die; exit 3"

    @contextmanager
    def joined(*_: object) -> Iterator[tuple[list[PortsOfHop], ProcessDut]]:
        ports = [(f"virtio:{tmp_path}/{i}a", f"virtio:{tmp_path}/{i}b") for i in range(2)]
        log = tmp_path / "switch.log"
        with child("switch", ["sh", "-c", dies], scope=scope, log=log) as process:
            yield ports, ProcessDut(process, path="")

    monkeypatch.setattr(chain, "joined_by_switch", joined)
    switched = 'driver = "chain"\noptions = { switch = "ovs_dpdk" }'
    plan = make_plan(parse_spec(TEXT.replace('driver = "taut_forward"', switched)))
    [trial] = [trial for trial in plan.trials if not trial.device.is_floor]
    core = min(cpuset_cores())
    cores = Cores(generator=core, device=core, writer=core, runner=core)
    known = TrialSoFar(trial_document(trial, cores))

    with pytest.raises(TrialError, match="device under test died during the trial") as raised:
        bench_of(plan, scope, cores).measure(trial, tmp_path / "trial", known)

    assert raised.value.log_tail == ["made to die", "switch: ended with exit status 3"]
