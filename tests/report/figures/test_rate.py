from dataclasses import replace

from taut.records.documents.figures import NO_FIGURES
from taut.records.documents.results import Metrics
from taut.report.chart import as_spec
from taut.report.figures.rate import LatencyAgainstRate


def with_rows(scene, change):
    """The scene with changed rows; its own load stays."""
    devices = [replace(d, row=change(d.row)) for d in scene.all_devices]
    return replace(scene, all_devices=devices)


def at(row, pps):
    return replace(row, load=replace(row.load, asked_pps=pps))


def drawn(scene):
    spec = as_spec(LatencyAgainstRate().draw(scene))
    return spec, spec["layer"][0]["encoding"]["x"]["scale"]


def test_the_axis_of_rates_is_logarithmic_where_they_span_decades(scene):
    _, near = drawn(scene)
    spread = with_rows(scene, lambda row: at(row, row.load.asked_pps**2 / 1e5))
    _, far = drawn(with_rows(spread, lambda row: at(row, row.load.asked_pps**4 / 1e15)))

    assert near.get("type") is None
    assert far["type"] == "log"
    assert far["domain"][0] < 1e5 < 16e5 < far["domain"][1]


def test_a_knee_is_told_below_the_axis_not_among_the_lines(scene):
    assert "title" not in drawn(scene)[0]

    spec, _ = drawn(
        with_rows(scene, lambda row: replace(row, loss_ratio=0.02 * (row.device.dut == "eager")))
    )

    assert spec["title"]["text"] == ["◇ eager at 100 kpkt/s: 2 % lost"]
    assert spec["title"]["orient"] == "bottom"
    assert "text" not in {layer["mark"]["type"] for layer in spec["layer"]}


def test_a_knee_from_which_nothing_came_back_is_told_all_the_same(scene):
    def collapsed(row):
        if row.device.dut != "eager" or row.load.asked_pps < 2e5:
            return row
        keys = row.latency.percentiles_ns
        nothing = replace(NO_FIGURES, percentiles_ns=dict.fromkeys(keys))
        none = Metrics(all_packets={"latency": nothing})
        return replace(row, loss_ratio=1.0, metrics=none)

    spec, _ = drawn(with_rows(scene, collapsed))

    assert spec["title"]["text"] == ["◇ eager at 200 kpkt/s: 100 % lost"]


def test_a_rate_that_the_generator_did_not_send_is_told_as_that(scene):
    def late(row):
        is_slow = row.load.asked_pps > 1e5
        return replace(row, achieved_pps=0.9 * row.offered_pps) if is_slow else row

    lines = drawn(with_rows(scene, late))[0]["title"]["text"]

    assert "eager at 200 kpkt/s: the generator did not send it, 90 % of the rate achieved" in lines
    assert not any(line.startswith("◇ eager at") for line in lines)
