from dataclasses import replace

from taut.records.documents.generator import Energy, EnergyDomain
from taut.report.chart import as_spec
from taut.report.figures.energy import LatencyAgainstPower


def taking(device, power_w):
    """The device in a second of that power."""
    package = EnergyDomain("intel-rapl:0", "package-0", power_w * 10**6)
    energy = Energy(elapsed_ns=10**9, domains=(package,))
    return replace(device, trials=[replace(trial, energy=energy) for trial in device.trials])


def test_each_rate_is_a_mark_of_its_device(scene):
    devices = [taking(d, (30, 31)[i % 2]) for i, d in enumerate(scene.all_devices)]

    spec = as_spec(LatencyAgainstPower().draw(replace(scene, all_devices=devices)))

    assert spec["layer"][0]["encoding"]["x"]["field"] == "power_w"
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, 31]


def test_where_nothing_is_known_or_nothing_differs_there_is_no_figure(scene):
    same = [taking(device, 30) for device in scene.all_devices]

    assert LatencyAgainstPower().draw(scene) is None
    assert LatencyAgainstPower().draw(replace(scene, all_devices=same)) is None
