"""A search in which the generator spoils one goal again and again, and another one once."""

from made_bench import EAGER_PPS, SEARCH, Bench, sessions
from taut.experiment.capacity import search_capacity
from taut.experiment.spec import parse_spec

# Long enough for several trials at a load.
TEXT = SEARCH.replace('"1s"', '"5s"')


def test_where_one_goal_is_given_up_a_trial_that_spoils_another_is_repeated(tmp_path):
    # All four attempts of a load's first trial spoil NDR; the next spoils PDR as well.
    spec = parse_spec(TEXT)
    with sessions(tmp_path) as opened:
        document = search_capacity(opened(Bench(stalls_above=5e5, late_at=5), spec), spec)

    [eager] = (one for one in document.searches if one.device == "eager")
    ndr, pdr = eager.found
    assert ndr.irregular == "instrument limited"
    assert pdr.irregular is None
    assert pdr.lower.load_pps < 1.01 * EAGER_PPS < 1.01 * pdr.upper.load_pps
    stalled = [len(one.trials) for one in eager.steps if one.load_pps > 5e5]
    assert set(stalled) == {1, 2, 4}
