"""What a search is made of: devices under loads, each once, between limits."""

import random

import pytest

from taut.core.errors import InputError
from taut.experiment.loads import loads_of, rate_text, to_search
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec, spec_hash

TEXT = """
name = "made"
duration = "1s"
[search]
min = "1kpps"
max = "10Mpps"
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["10kpps"]
"""
AGAIN = TEXT + '[[traffic]]\nrates = ["100kpps"]\n'
RESTARTED = TEXT.replace('"taut_forward"', '"taut_forward"\nlink = "veth"') + 'restart = "2s"\n'


@pytest.mark.parametrize(
    ("pps", "text"),
    [
        (997497.6029392382, "997497.6pps"),
        (1e3, "1000pps"),
        (2e7, "20000000pps"),
        (0.0123456789, "0.012346pps"),
        (123456789.4, "123456789pps"),
    ],
)
def test_a_load_is_spelt_with_seven_digits(pps, text):
    assert rate_text(pps) == text


def test_every_load_can_be_sent():
    rng = random.Random(1)
    for _ in range(200):
        text = rate_text(10 ** rng.uniform(-1, 8.9))
        parse_spec(TEXT.replace("10kpps", text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT + '[[host]]\nname = "x"\n', "as it is"),
        (TEXT.replace('"taut_forward"\nname = "eager"', '"loopback"'), "nothing to search"),
        ('require = ["loss = 0"]\n' + TEXT, "a search looks for those that fail"),
        (AGAIN + 'record = "none"\n', "eager gets 64 B of two tables of this name"),
        (RESTARTED, "restart: not for a search, and `taut rfc` restarts"),
    ],
)
def test_what_cannot_be_searched_is_refused(text, said):
    with pytest.raises(InputError, match=said):
        loads_of(parse_spec(text))


def test_tables_of_one_name_that_differ_in_rates_are_searched_once():
    assert [len(load.subjects) for load in loads_of(parse_spec(AGAIN))] == [1]


def test_a_table_of_one_name_adds_what_the_other_has_not():
    loads = loads_of(parse_spec(AGAIN + "frames = [64, 128]\n"))

    assert [[one.frame for one in load.subjects] for load in loads] == [[64], [128]]
    assert all(len(load.floors) == 1 for load in loads)


def test_trials_in_which_nothing_is_due_at_the_lowest_load_are_refused():
    short = '[[goal]]\nname = "ndr"\ntrial = "200ms"\n'

    assert to_search(parse_spec(TEXT.replace("1kpps", "5pps") + short))
    with pytest.raises(InputError, match="min 4pps sends less than a packet in a trial of 200 ms"):
        to_search(parse_spec(TEXT.replace("1kpps", "4pps") + short))


@pytest.mark.parametrize("said", ["", "floor = true\n"], ids=["left out", "asked for"])
def test_cards_have_a_loopback_only_where_it_is_asked_for(said):
    cards = TEXT.replace('name = "eager"', 'name = "eager"\nlink = "pci"')
    spec = parse_spec(said + cards)

    (load,) = loads_of(spec)
    measured = {trial.device.name for trial in make_plan(spec).trials}

    assert [one.device.name for one in load.floors] == (["loopback_pci"] if said else [])
    assert measured == {"eager", *(["loopback_pci"] if said else [])}


@pytest.mark.parametrize(("link", "is_other"), [("memif", False), ("pci", True)])
def test_a_floor_that_is_asked_for_is_another_experiment_over_cards_alone(link, is_other):
    linked = TEXT.replace('name = "eager"', f'name = "eager"\nlink = "{link}"')
    unsaid, said = (spec_hash(parse_spec(floor + linked)) for floor in ("", "floor = true\n"))

    assert (said != unsaid) is is_other
    own = f"{linked}floor = true\n"  # of its load
    assert spec_hash(parse_spec(own)) == spec_hash(parse_spec("floor = true\n" + own))
