"""Works take turns strictly: one runs at a time, and what ends one ends all."""

import threading
from collections.abc import Callable

import pytest

from taut.experiment.turns import Turn, Work, at_once, take_turns


def counting(name: str, n: int, done: list[str]) -> Work[str]:
    def work(turn: Turn) -> str:
        for i in range(n):
            assert turn(lambda i=i: done.append(f"{name}{i}") or i) == i
        return name

    return work


def test_each_has_one_turn_after_the_other_until_it_has_ended():
    done: list[str] = []

    given = take_turns([counting("a", 3, done), counting("b", 1, done), counting("c", 2, done)])

    assert done == ["a0", "b0", "c0", "a1", "c1", "a2"]
    assert given == ["a", "b", "c"]


def test_what_is_asked_for_is_done_by_the_caller_and_nothing_runs_meanwhile():
    running: list[str] = []

    def work(turn: Turn) -> None:
        for _ in range(50):
            assert running == []
            running.append("work")
            running.remove("work")
            turn(do)

    def do() -> None:
        assert threading.current_thread() is threading.main_thread()
        assert running == []
        running.append("do")
        running.remove("do")

    take_turns([work, work, work])


def test_no_works_and_works_that_ask_for_nothing():
    assert take_turns([]) == []
    assert take_turns([lambda _: 1, lambda _: 2]) == [1, 2]
    assert at_once(lambda: 3) == 3


def test_what_was_raised_by_what_it_asked_for_is_the_work_s_to_handle():
    def fail() -> None:
        raise KeyError("x")

    def careful(turn: Turn) -> str:
        with pytest.raises(KeyError):
            turn(fail)
        return "went on"

    assert take_turns([careful]) == ["went on"]


def interrupt() -> None:
    raise KeyboardInterrupt


def asks_for(do: Callable[[], object]) -> Work[None]:
    def work(turn: Turn) -> None:
        turn(do)

    return work


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_what_one_raises_ends_the_others_where_they_wait(error):
    ended: list[str] = []

    def other(turn: Turn) -> None:
        try:
            while True:
                turn(lambda: None)
        finally:
            ended.append("other")

    def fail() -> None:
        raise error

    n_before = threading.active_count()
    with pytest.raises(error):
        take_turns([other, asks_for(fail), other])

    assert ended == ["other", "other"]
    assert threading.active_count() == n_before


def test_one_that_raises_before_it_asks_raises():
    def work(_: Turn) -> None:
        raise ValueError("at once")

    with pytest.raises(ValueError, match="at once"):
        take_turns([work, asks_for(interrupt)])
