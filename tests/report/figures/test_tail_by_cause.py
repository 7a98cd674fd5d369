from dataclasses import replace
from itertools import pairwise

import pytest

from taut.explain.causes import CAUSES
from taut.records.documents.json_form import parse, plain_object
from taut.records.documents.results import TrialResult
from taut.report.chart import as_spec
from taut.report.figures.tail_by_cause import MOST_PANELS, TailByCause, _panels, _stacked
from taut.report.palette import cause_token


def with_trials(scene, trials):
    trials = [parse(TrialResult, trial, "made") for trial in trials]
    device = replace(next(d for d in scene.devices if d.label == "eager"), trials=trials)
    return replace(scene, devices=[device])


def traced(scene):
    """The document of the trial that was traced."""
    return next(plain_object(t) for d in scene.devices for t in d.trials if t.explanation)


def colour_scales(spec):
    """Of all layers, one in the other."""
    for layer in spec.get("layer", []):
        yield from colour_scales(layer)
    if "scale" in (colour := spec.get("encoding", {}).get("color", {})):
        yield str(colour["scale"])


def test_only_the_traced_trial_has_a_panel(scene):
    [panel] = _panels(scene)

    assert panel.device.label == "eager"
    assert panel.causes[0].cause == "preemption"


def test_shares_of_each_stretch_are_stacked_to_one(scene):
    [panel] = _panels(scene)
    rows = _stacked(panel)

    for stretch in {row["stretch"] for row in rows}:
        own = [row for row in rows if row["stretch"] == stretch]
        assert own[0]["high"] == 1
        assert own[-1]["low"] == pytest.approx(0, abs=1e-9)
        assert [row["high"] for row in own[1:]] == [row["low"] for row in own[:-1]]
        assert sum(row["packets"] for row in own) == panel.tail.bins[0].packets


def test_dots_lie_on_the_curve_of_the_trial(scene):
    [panel] = _panels(scene)
    values, n = replace(panel.device, trials=[panel.trial]).counts("latency")

    assert panel.tail.packets.latency_ns[0] == values[-1]
    assert panel.tail.n == n.sum()


def test_a_cause_has_its_colour_whatever_else_was_seen(scene):
    scales = set(colour_scales(as_spec(TailByCause().draw(scene))))

    [scale] = scales
    assert "'preemption'" in scale
    assert cause_token("preemption") in scale


def test_panels_lie_below_each_other_and_do_not_touch(scene):
    trial = traced(scene)
    three = _panels(with_trials(scene, [trial, trial, trial]))

    for panel, following in pairwise(three):
        assert panel.top < panel.curve[1] < panel.curve[0] < panel.bars[1] < panel.bars[0]
        assert panel.bars[0] < following.top


def test_the_list_of_causes_fits_above_the_curve(scene):
    trial = traced(scene)
    total = trial["explanation"]["causes"][0]
    every = [{**total, "cause": cause.id, "title": cause.title} for cause in CAUSES]
    many = {**trial, "explanation": {**trial["explanation"], "causes": every}}

    [panel] = _panels(with_trials(scene, [many]))

    assert len(panel.words) == len(CAUSES)
    assert panel.words[-1]["at"] + 15 <= panel.curve[1]


def test_causes_below_a_percent_are_told_together(scene):
    trial = traced(scene)
    total = trial["explanation"]["causes"][0]
    small = [{**total, "cause": of, "tail_share": 0.004} for of in ("timer", "softirq")]
    few = {**trial, "explanation": {**trial["explanation"], "causes": [total, *small]}}

    [panel] = _panels(with_trials(scene, [few]))

    assert [line["text"] for line in panel.words] == [
        "100 %  another thread ran",
        "0.8 %  2 others",
    ]


def test_of_many_trials_the_one_with_the_slowest_packet_is_drawn(scene):
    trial = traced(scene)
    slow = {**trial, "latency_ns": {**trial["latency_ns"], "max": 10**9}}

    panels = _panels(with_trials(scene, [trial] * MOST_PANELS + [slow]))

    assert [panel.trial.latency().max_ns for panel in panels] == [10**9]


NO_TAIL = {"n": 1, "bins": [], "packets": {"one_in": [], "latency_ns": [], "cause": []}}


@pytest.mark.parametrize("kept", [{}, {"by_percentile": None}, {"by_percentile": NO_TAIL}])
def test_older_results_and_an_empty_tail_have_no_figure(scene, kept):
    trial = traced(scene)
    lean = {k: v for k, v in trial["explanation"].items() if k != "by_percentile"}
    old = {**trial, "explanation": {**lean, **kept}}

    assert TailByCause().draw(with_trials(scene, [old])) is None


def guessed(trial, every):
    """The trial with its verdicts as guesses: every one, or all but the slowest packet's."""
    e = trial["explanation"]
    tail = e["by_percentile"]
    n = len(tail["packets"]["cause"])
    marks = [every, *[True] * (n - 1)]
    left = 0 if every else 1
    bins = [
        {
            **b,
            "guesses": {c: k - (left if b["to"] == "max" else 0) for c, k in b["by_cause"].items()},
        }
        for b in tail["bins"]
    ]
    causes = [
        {**c, "n_by_grade": {"B": left, "D": c["n_packets"] - left}}
        for c in e["causes"]
        if c["n_packets"]
    ]
    packets = {**tail["packets"], "is_guess": marks}
    tail = {**tail, "bins": bins, "packets": packets}
    return {**trial, "explanation": {**e, "causes": causes, "by_percentile": tail}}


def marks_of(spec):
    """Every mark of all layers, one in the other."""
    for layer in spec.get("layer", []):
        yield from marks_of(layer)
    if isinstance(spec.get("mark"), dict):
        yield spec["mark"]


def drawn(scene, trial):
    marks = list(marks_of(as_spec(TailByCause().draw(with_trials(scene, [trial])))))
    hollow = [m for m in marks if m["type"] == "point" and m["filled"] is False and "size" in m]
    dots = [m for m in hollow if m["size"] < 50]
    pale = [m for m in marks if m["type"] == "rect" and m.get("fillOpacity")]
    return len(dots), len(pale)


def test_guesses_are_hollow_dots_and_pale_bars_and_others_are_not(scene):
    trial = traced(scene)

    assert drawn(scene, trial) == (0, 0)
    assert drawn(scene, guessed(trial, every=True)) == (1, 1)
    assert drawn(scene, guessed(trial, every=False)) == (1, 1)


def test_a_bar_of_guesses_lies_under_what_is_sure_and_both_fill_the_stretch(scene):
    [panel] = _panels(with_trials(scene, [guessed(traced(scene), every=False)]))
    rows = _stacked(panel)

    for stretch in {row["stretch"] for row in rows}:
        own = [row for row in rows if row["stretch"] == stretch]
        assert own[-1]["low"] == pytest.approx(0, abs=1e-9)
        assert own[-1]["is_guess"]
        assert own[-1]["title"].startswith("maybe ")
    assert sum(not row["is_guess"] for row in rows) == 1


def test_results_of_older_versions_have_no_guesses(scene):
    trial = traced(scene)
    tail = trial["explanation"]["by_percentile"]
    bins = [{k: v for k, v in b.items() if k != "guesses"} for b in tail["bins"]]
    packets = {k: v for k, v in tail["packets"].items() if k != "is_guess"}
    old = {**trial["explanation"], "by_percentile": {**tail, "bins": bins, "packets": packets}}

    assert drawn(scene, {**trial, "explanation": old}) == (0, 0)
