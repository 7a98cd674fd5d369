"""What is said of a series of many runs."""

from taut.records.documents.trend import GroupOfRuns, SeriesOfTrend
from taut.report.trend import csit_words


def test_groups_of_jumpavg_begin_with_the_runs_that_have_a_median_above_zero() -> None:
    medians = (-5.0, 100.0, None, 0.0, 101.0, 200.0, 201.0)
    groups = (GroupOfRuns(0, 2, 100.5, 0.7), GroupOfRuns(2, 2, 200.5, 0.7))
    series = SeriesOfTrend("100 kpkt/s, 64 B", "pair", False, {"p50": medians}, None, (), groups)

    said = csit_words(series, [f"r{at}" for at in range(len(medians))])

    assert said == "CSIT's jumpavg: 100 ns from r1, 200 ns from r5."
