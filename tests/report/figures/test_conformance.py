"""What every figure must do; a new figure is tested by being in the table."""

from dataclasses import replace

import pytest

from made_documents import made_search
from taut.analysis.compare import compare_runs
from taut.analysis.load import load_of, loads_in_order
from taut.records.documents.generator import DeviceUse, Energy, EnergyDomain
from taut.report.figures import FIGURES
from taut.report.scene import make_scenes
from taut.testing import figures

each_figure = pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.id)


def in_state(row):
    return replace(row, device=replace(row.device, host="trimmed"))


def using(device, share):
    """The device, having taken that share of a core, and power by it."""
    use = DeviceUse(elapsed_ns=1000, process_ns=int(1000 * share))
    package = EnergyDomain("intel-rapl:0", "package-0", int(100 * share))
    took = {"device_use": use, "energy": Energy(1000, None, (package,))}
    return replace(device, trials=[replace(trial, **took) for trial in device.trials])


@pytest.fixture(scope="module")
def scene(analysed):
    """The main load, compared with itself, one device of it in a second state of the host."""
    scene = make_scenes([analysed], loads_in_order(analysed[1].variants))[0]
    pairs = compare_runs(analysed, analysed).pairs
    eager = scene.devices[1]
    trimmed = replace(eager, label="eager, trimmed", row=in_state(eager.row))
    return replace(
        scene,
        devices=[*scene.devices, trimmed],
        all_devices=[using(d, 0.1 + 0.9 * (i % 2)) for i, d in enumerate(scene.all_devices)],
        colours={**scene.colours, trimmed.label: "@device1-1"},
        pairs=[p for p in pairs if load_of(p.a) == scene.load],
        searches=[made_search()],
    )


@each_figure
def test_figure_draws_a_small_chart_in_colour_tokens(figure, scene):
    figures.draws_a_small_chart_in_colour_tokens(figure, scene)


@each_figure
def test_figure_says_only_what_vega_lite_knows(figure, scene):
    figures.says_only_what_vega_lite_knows(figure, scene)


@each_figure
def test_figure_writes_svg_and_png(figure, scene, tmp_path):
    figures.writes_images(figure, scene, tmp_path)


@each_figure
def test_figure_asks_a_question_and_says_how_to_read_it(figure):
    figures.asks_and_says_how_to_read_it(figure)


def test_figures_that_compare_have_nothing_to_draw_for_one_trial(scene):
    device = scene.devices[1]
    alone = replace(device, trials=device.trials[:1])
    small = replace(scene, devices=[alone], all_devices=[alone], pairs=())

    drawn = {figure.id: figure.draw(small) is not None for figure in FIGURES}

    assert drawn["percentiles"]
    assert not drawn["improvement"]
    assert not drawn["rate"]
    assert not drawn["cpu"]
    assert not drawn["energy"]
    assert not drawn["repetitions"]
    assert not drawn["trimmed"]
