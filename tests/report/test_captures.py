"""Runs made of captures: nobody knows when packets were due, and latencies may be negative."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from made_run import MadeTrial, MadeVariant, make_run
from taut.analysis.load import loads_in_order
from taut.analysis.results import analyse_run
from taut.analysis.worst import N_WORST
from taut.records.rundir import RunDirectory
from taut.report.chart import as_spec
from taut.report.figures import FIGURES
from taut.report.html import write_html
from taut.report.scene import make_scenes

TRIAL = MadeTrial(n_cold=0, n_duplicates=0, n_orphans=0, generator_gap=None)


def capture_run(path, clock_offset_ns):
    make_run(path, (MadeVariant("capture", "capture", TRIAL, "capture"),), repetitions=1)
    for trial in path.glob("trials/*"):
        rows = pq.read_table(trial / "packets.parquet")
        due, received = (rows.schema.get_field_index(n) for n in ("due_ns", "received_ns"))
        rows = rows.set_column(due, rows.schema.field(due), pa.nulls(len(rows), pa.int64()))
        shifted = pc.subtract(rows["received_ns"], clock_offset_ns)
        rows = rows.set_column(received, rows.schema.field(received), shifted)
        pq.write_table(rows, trial / "packets.parquet")
        meta = json.loads((trial / "trial.json").read_text())
        meta |= {"cores": None, "clock": None}
        meta["traffic"] |= {"rate": None, "offered_pps": None, "schedule": None, "name": "capture"}
        (trial / "trial.json").write_text(json.dumps(meta))
    run = RunDirectory(path)
    return run, analyse_run(run)


@pytest.fixture(scope="module", params=[0, 1_000, 5_000_000], ids=["plain", "some", "all"])
def captures(request, tmp_path_factory):
    """With none, some and all latencies below zero."""
    return capture_run(tmp_path_factory.mktemp("captures") / "run", request.param)


def scene_of(captures):
    return make_scenes([captures], loads_in_order(captures[1].variants))[0]


def drawn(scene):
    return {f.id: as_spec(c) for f in FIGURES for c in [f.draw(scene)] if c is not None}


def domain_and_type(spec, channel):
    layer = spec.get("layer", [spec])[0]
    scale = layer["encoding"][channel]["scale"]
    return scale["domain"], scale["type"]


def test_figures_draw_a_run_without_floor_void_or_due_times(captures):
    figures = drawn(scene_of(captures))

    assert set(figures) == {
        "percentiles",
        "histogram",
        "worst_over_time",
        "inter_departure",
        "inter_arrival",
    }


def test_axes_hold_every_latency_and_are_logarithmic_only_above_zero(captures):
    scene = scene_of(captures)
    figures = drawn(scene)
    latency = captures[1].trials[0].latency()
    worst = [packet.latency_ns for packet in scene.devices[0].worst(N_WORST)]

    for name, channel, least, greatest in (
        ("percentiles", "y", latency.min_ns, latency.max_ns),
        ("worst_over_time", "y", min(worst), max(worst)),
        ("histogram", "x", latency.min_ns, latency.min_ns),  # bins are drawn from their low end
    ):
        (low, high), kind = domain_and_type(figures[name], channel)
        assert kind == ("log" if least > 0 else "linear")
        assert low * 1e3 <= least <= greatest <= high * 1e3


def test_the_worst_packets_are_there_but_for_those_that_cover_one_another(captures):
    scene = scene_of(captures)
    [data] = drawn(scene)["worst_over_time"]["datasets"].values()
    rows = [line.split(",") for line in data.splitlines()[1:]]
    shown = sorted(float(row[2]) for row in rows)
    worst = sorted(packet.latency_ns / 1e3 for packet in scene.devices[0].worst(N_WORST))

    assert len(worst) == N_WORST
    assert N_WORST / 10 < len(shown) < N_WORST
    assert (shown[0], shown[-1]) == pytest.approx((worst[0], worst[-1]))
    assert {row[3] for row in rows} == {"valid"}


def test_report_and_episodes_do_without_due_times(captures, tmp_path):
    episodes = captures[1].trials[0].measured.episodes

    assert all(episode.due_ns is None for episode in episodes.worst)
    page = write_html([captures], tmp_path / "r.html").read_text(encoding="utf-8")
    # Nobody asked for a rate that the one of the files could be held against.
    counters = page.rpartition("do the sums come out?")[2].partition("</section>")[0]
    assert "achieved / offered" in counters
    assert "%</td>" not in counters
