"""The recipes are the RFCs' own; what differs is said."""

import pytest

from taut.core.errors import InputError
from taut.experiment.recipes import QUICK, RECIPES, RfcSpec, recipe_of, shortened

S = 1_000_000_000


def test_rfc_2544_is_as_its_sections_say():
    recipe = recipe_of("2544", RfcSpec())

    assert recipe.frames == ("64", "128", "256", "512", "1024", "1280", "1518")  # 9.1
    assert (recipe.warm_up_ns, recipe.residue_ns, recipe.settle_ns) == (2 * S, 2 * S, 5 * S)  # 23
    assert recipe.trial_ns == 60 * S  # 24
    assert (recipe.latency_ns, recipe.tag_after_ns, recipe.tags) == (120 * S, 60 * S, 1)  # 26.2
    assert recipe.repetitions == 20
    assert recipe.loss_step == 0.1  # 26.3
    assert recipe.overload_ns == 60 * S  # 26.5
    assert recipe.tests == ("throughput", "latency", "loss", "recovery", "reset")
    assert shortened(recipe) == []


def test_rfc_8219_has_500_tags_and_rfc_9004_fifty_bursts():
    assert recipe_of("8219", RfcSpec()).tags == 500
    assert recipe_of("9004", RfcSpec()).bursts == 50
    assert recipe_of("9004", RfcSpec()).tests == ("throughput", "bursts")


@pytest.mark.parametrize("rfc", RECIPES)
def test_all_that_quick_shortens_of_a_recipe_is_said(rfc):
    whole, quick = RECIPES[rfc], recipe_of(rfc, RfcSpec(quick=True))

    said = "; ".join(shortened(quick))

    assert {name for name in QUICK if getattr(quick, name) != getattr(whole, name)} == set(QUICK)
    assert "frame sizes 64, 512, 1518 B instead of 64, 128" in said
    assert ("latency trials 2 s instead of 120 s" in said) == (rfc != "9004")
    assert ("searches for the longest burst 3 instead of 50" in said) == (rfc == "9004")


def test_what_the_file_says_goes_before_quick_and_is_said_too():
    recipe = recipe_of("2544", RfcSpec(quick=True, latency="3s", both=False, tests=("latency",)))

    assert recipe.latency_ns == 3 * S
    assert recipe.tests == ("throughput", "latency")
    again = recipe_of("2544", RfcSpec(tests=("latency", "throughput", "latency")))
    assert again.tests == ("throughput", "latency")
    said = shortened(recipe)
    assert said[0] == "left out: loss, recovery, reset"
    assert "directions one instead of both" in said
    assert "latency trials 3 s instead of 120 s" in said
    assert not any("overload" in words or "restart" in words for words in said)


def test_a_test_of_another_rfc_is_refused():
    with pytest.raises(InputError, match="bursts: no test of RFC 2544; its tests are throughput"):
        recipe_of("2544", RfcSpec(tests=("bursts",)))


def test_a_tag_behind_the_end_of_its_trial_is_refused():
    with pytest.raises(InputError, match="the latency trial is over after 1 s; lower"):
        recipe_of("2544", RfcSpec(latency="1s", tag_after="1s"))
