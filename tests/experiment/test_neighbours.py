"""Neighbours in an experiment: what a file may say, on which cores they work, in what order."""

from collections import Counter
from dataclasses import replace

import pytest

from taut.core.errors import InputError
from taut.experiment.cores import Topology, assign_cores
from taut.experiment.loads import loads_of
from taut.experiment.model import CoreSpec, Spec
from taut.experiment.neighbour_cores import asked_of, notes_of, working
from taut.experiment.neighbour_spec import NeighbourSpec
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec

TWO, THREE, FOUR = (assign_cores(CoreSpec(), Topology(tuple(range(n)))) for n in (2, 3, 4))


def spec_of(*neighbours: str, more: str = "") -> Spec:
    tables = "".join(f"[[neighbour]]\n{text}\n" for text in neighbours)
    return parse_spec(
        f"""
name = "beside"
duration = "1s"
repetitions = 2
{tables}{more}
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["10kpps"]
"""
    )


def one(text: str) -> NeighbourSpec:
    return spec_of(text).neighbour[0]


IDLE, CACHE, DISK = 'kind = "idle"', 'kind = "cache"', 'kind = "disk"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "cahce"', "unknown neighbour 'cahce'; did you mean 'cache'?"),
        ("cores = 1", "kind: missing; it has no default, so write it"),
        (f"{CACHE}\nname = 'idle'", "idle alone is called idle"),
        (f"{IDLE}\nname = 'nobody'", "idle alone is called idle"),
        (f"{IDLE}\ncores = 1", "idle is nobody; leave cores and workers out"),
        (
            f"{CACHE}\ncores = 'mine'",
            "'mine' is no core; write a list like 0-3,8; or one of others",
        ),
        (f"{CACHE}\ncores = ''", "cores is empty; leave it out, or name some"),
        (f"{CACHE}\nworkers = 0", "greater than or equal to 1"),
        (f"{CACHE}\nworker = 2", "unknown key; did you mean 'workers'?"),
    ],
)
def test_a_mistake_is_answered_in_one_line(text, message):
    with pytest.raises(InputError) as raised:
        spec_of(text)

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_two_of_one_name_are_refused():
    with pytest.raises(InputError, match="two of neighbour are called 'cache'"):
        spec_of(CACHE, CACHE)


def test_a_neighbour_works_where_nobody_measures():
    assert asked_of(one(CACHE), FOUR).cores == (3,)
    assert FOUR.measured == (1, 2)
    assert not list(notes_of([one(CACHE)], FOUR))


def test_without_such_cores_it_shares_tauts_own():
    assert (THREE.runner, THREE.measured) == (0, (1, 2))
    assert asked_of(one(CACHE), THREE).cores == (0,)


def test_with_two_cores_it_takes_turns_with_the_device_and_says_so():
    assert asked_of(one(CACHE), TWO).cores == (TWO.device,)
    [note] = notes_of([one(IDLE), one(CACHE), one(DISK)], TWO)
    assert note.startswith("neighbours cache, disk on the device's core 1: they take turns there")


def test_on_the_generators_core_it_makes_packets_void_and_says_so():
    [note] = notes_of([one(f'{CACHE}\ncores = "generator"')], FOUR)

    assert note.startswith("neighbour cache on the generator's core 1: packets delayed there are")
    assert "void" in note


def test_another_measurements_core_is_nobodys_to_load():
    busy = assign_cores(CoreSpec(), Topology((0, 1, 2, 3, 4), busy=frozenset({4})))

    assert asked_of(one(CACHE), busy).cores == (3,)


def test_named_cores_are_kept_or_refused():
    assert asked_of(one(f'{CACHE}\ncores = "0,2-3"'), FOUR).cores == (0, 2, 3)
    assert asked_of(one(f"{CACHE}\ncores = 2"), FOUR).cores == (2,)
    with pytest.raises(InputError, match="'cache': core 7 cannot be used here; these can: 0-3"):
        asked_of(one(f"{CACHE}\ncores = 7"), FOUR)


def test_the_idle_one_has_nothing_to_do():
    assert working([one(IDLE)], FOUR) == []


def test_neighbours_run_in_turn_a_b_b_a_with_their_floors():
    plan = make_plan(spec_of(IDLE, CACHE))

    turns = list(dict.fromkeys((t.repetition, t.neighbour.name) for t in plan.trials))
    names = [name for _, name in turns]
    assert names in (["idle", "cache", "cache", "idle"], ["cache", "idle", "idle", "cache"])
    seen = Counter((t.neighbour.name, t.device.name) for t in plan.trials)
    assert set(seen.values()) == {2}
    assert len(seen) == 4


def test_what_is_dear_to_change_changes_least():
    hosts = '[[host]]\nname = "as found"\n[[host]]\nname = "trimmed"\nprofile = "recommended"\n'
    plan = make_plan(spec_of(IDLE, CACHE, more=hosts))

    states = [t.host.name for t in plan.trials if t.repetition == 1]
    beside = [(t.host.name, t.neighbour.name) for t in plan.trials if t.repetition == 1]
    assert len(list(dict.fromkeys(beside))) == 4
    assert states in (sorted(states), sorted(states, reverse=True))
    assert beside == sorted(beside, key=beside.index)


def test_without_neighbours_names_and_order_are_as_they_were():
    trials = make_plan(spec_of()).trials
    beside = make_plan(spec_of(CACHE)).trials

    assert [t.name for t in beside] == [t.name.replace("-r", "-cache-r") for t in trials]
    assert not trials[0].has_neighbour
    assert beside[0].expected_ns > replace(beside[0], neighbour=None).expected_ns


def test_a_search_measures_beside_one_neighbour_at_most():
    assert loads_of(spec_of(CACHE))
    with pytest.raises(InputError, match="search measures beside one neighbour at most"):
        loads_of(spec_of(IDLE, CACHE))
