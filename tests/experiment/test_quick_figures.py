"""The line of a trial that has just ended speaks of the same packets as the analysis will."""

from made_run import MadeTrial, MadeVariant, make_run
from taut.experiment.quick_figures import read_quick_figures
from taut.records.documents.json_form import read_document
from taut.records.documents.trial import TrialDocument


def test_a_glance_leaves_the_warm_up_out(tmp_path):
    gap = (1_000_000, 3_000_000)
    made = MadeTrial(n_packets=2_000, n_cold=500, n_lost=3, n_cold_lost=40, generator_gap=gap)
    run = make_run(tmp_path / "run", (MadeVariant("eager", "taut_forward", made),), repetitions=1)
    (trial,) = (run / "trials").iterdir()

    found = read_quick_figures(trial, read_document(TrialDocument, trial / "trial.json"))

    assert found.loss_ratio == 3 / 1_500
    assert found.void_ratio == 0
    assert found.unsent == 0


def test_a_failed_trial_has_nothing_to_look_at(tmp_path):
    assert read_quick_figures(tmp_path, TrialDocument()) is None
