"""What becomes of acts whose device is not there any more; a made-up taut-inject answers."""

import subprocess
import threading
from pathlib import Path

import pytest

from taut.binaries.inject import InjectRequest
from taut.core.errors import TrialError
from taut.experiment.cores import Cores
from taut.self_test import disturbance as module
from taut.self_test.disturbance import Disturbance
from taut.self_test.path_trials import plan_of
from taut.self_test.paths import ACTS, paths_of

TRIAL = plan_of(0, paths_of(["eager"]), 20).trials[1]
CORES = Cores(generator=0, device=0, writer=0, runner=0)


def test_a_device_that_ends_before_its_quota_is_there_is_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [quota] = [act for act in ACTS if act.wants_group]
    disturbance = Disturbance(tmp_path, 1, lambda _: [quota])
    over = threading.Event()

    with subprocess.Popen(["sleep", "60"]) as device:

        def inject(request: InjectRequest, _: object) -> None:
            assert request.victim == device.pid
            device.kill()
            device.wait()
            over.wait()

        monkeypatch.setattr(module, "inject", inject)

        with (
            pytest.raises(TrialError, match="the device died"),
            disturbance.device_ready(TRIAL, CORES, device.pid),
        ):
            over.set()
            raise TrialError("the device died")

    why = "the device ended before it was in its control group"
    assert disturbance.made[TRIAL.name].failed == {quota.name: why}
