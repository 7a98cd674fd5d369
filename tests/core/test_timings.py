"""Stages add up to the whole, whatever lies in what."""

from taut.core.timings import REST, START, StageTime, Timings, stage, timed, timings_so_far


def test_a_second_counts_for_the_innermost_stage():
    timings = Timings(2.0, clock=iter([0.0, 1.0, 3.0, 6.0, 10.0, 15.0]).__next__)

    timings.enter("outer")
    timings.enter("inner")
    timings.leave()
    timings.leave()

    assert timings.so_far() == [
        StageTime(START, 2.0),
        StageTime("outer", 2.0 + 4.0),
        StageTime("inner", 3.0),
        StageTime(REST, 1.0 + 5.0),
    ]


def test_a_stage_is_one_line_however_often_it_is_entered():
    @stage("work")
    def work() -> None:
        pass

    with timed():
        work()
        work()
        stages = timings_so_far()

    assert stages is not None
    assert [one.stage for one in stages] == [START, "work", REST]


def test_what_raised_is_counted_and_nothing_is_where_nobody_asked():
    with timed():
        try:
            with stage("work"):
                raise KeyError
        except KeyError:
            stages = timings_so_far()
    with timed(False), stage("work"):
        unasked = timings_so_far()

    assert stages is not None
    assert [one.stage for one in stages] == [START, "work", REST]
    assert unasked is None
    assert timings_so_far() is None
