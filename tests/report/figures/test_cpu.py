from dataclasses import replace

import pytest

from taut.records.documents.generator import DeviceUse
from taut.report.chart import as_spec
from taut.report.figures.cpu import LatencyAgainstCpu, cpu_share


def using(device, *uses):
    trials = [
        replace(trial, device_use=use) for trial, use in zip(device.trials, uses, strict=True)
    ]
    return replace(device, trials=trials)


def same_of_all(device, share):
    use = DeviceUse(elapsed_ns=1000, process_ns=int(1000 * share))
    return using(device, *([use] * len(device.trials)))


def test_what_a_core_burnt_polling_in_idle_is_counted():
    used = DeviceUse(elapsed_ns=1000, process_ns=100, idle_poll_ns=700, awake_ns=850)

    assert used.cpu_share == pytest.approx(0.8)


def test_of_the_kernel_all_that_its_core_did_is_counted():
    assert DeviceUse(elapsed_ns=1000, idle_poll_ns=100, awake_ns=300).cpu_share == 0.3
    assert DeviceUse(elapsed_ns=1000).cpu_share is None


def test_a_device_has_the_median_of_its_repetitions_or_none(scene):
    device = scene.devices[1]
    uses = [DeviceUse(elapsed_ns=100, process_ns=i) for i, _ in enumerate(device.trials)]

    shares = [use.cpu_share for use in uses]
    assert min(shares) <= cpu_share(using(device, *uses)) <= max(shares)
    assert cpu_share(using(device, None, *uses[1:])) is None


def test_devices_that_all_poll_have_no_such_figure(scene):
    polling = [same_of_all(device, 0.99) for device in scene.all_devices]

    assert LatencyAgainstCpu().draw(replace(scene, all_devices=polling)) is None
    assert LatencyAgainstCpu().draw(scene) is None


def test_each_rate_is_a_mark_of_its_device(scene):
    devices = [same_of_all(d, (1.0, 0.1)[i % 2]) for i, d in enumerate(scene.all_devices)]

    spec = as_spec(LatencyAgainstCpu().draw(replace(scene, all_devices=devices)))

    assert spec["layer"][0]["encoding"]["x"]["field"] == "cpu_percent"
    assert spec["layer"][1]["mark"]["type"] == "point"
