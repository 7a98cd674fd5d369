"""Works that take turns: each asks for one thing to be done, and waits until it has its turn.

At any moment either one work runs, or the calling thread does what one has asked for: a work may
block inside a library that knows nothing of this, and none disturbs what another has measured.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

A = TypeVar("A")
T = TypeVar("T")


class Turn(Protocol):
    """Has something done when one's turn comes; gives what that gave, or raises what it raised."""

    def __call__(self, do: Callable[[], A], /) -> A:
        """Wait for one's turn."""
        ...


Work = Callable[[Turn], T]


def at_once(do: Callable[[], A], /) -> A:
    """Give the turn of a work that has no others beside it."""
    return do()


def take_turns(works: Sequence[Work[T]]) -> list[T]:
    """Carry out all works, and give what they gave; what one raises ends the others, too."""
    courses = [_Course(work) for work in works]
    with ThreadPoolExecutor(max(1, len(works))) as executor:
        try:
            waiting = [course for course in courses if course.start(executor)]
            while waiting:
                waiting = [course for course in waiting if course.take_turn()]
        finally:
            for course in courses:
                course.end()
    return [course.given() for course in courses]


class _Ended(BaseException):
    """Raised in a work that waits for a turn it will not have; none takes it for a failure."""


class _Course(Generic[T]):
    """One work, in a thread that runs only while the calling one waits for it."""

    def __init__(self, work: Work[T]) -> None:
        self._work = work
        self._asked: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._next: tuple[Callable[[], Any], Future[Any]] | None = None
        self._runs = False

    def start(self, executor: Executor) -> bool:
        """Let it run until it asks; False: it has ended. What it raised is raised."""
        self._runs = True
        self._given = executor.submit(self._work, self._wait)
        self._given.add_done_callback(lambda _: self._asked.put(None))
        return self._goes_on()

    def take_turn(self) -> bool:
        """Do what it asks for, and let it go on, as `start` does."""
        assert self._next is not None
        do, answer = self._next
        try:
            found = do()
        except Exception as error:  # noqa: BLE001 - the work's to handle
            answer.set_exception(error)
        else:
            answer.set_result(found)
        return self._goes_on()

    def end(self) -> None:
        """End it where it waits for its turn, however often it asks again."""
        while self._runs:
            if self._next is not None and not self._next[1].done():
                self._next[1].set_exception(_Ended())
            self._listen()

    def given(self) -> T:
        """Give what it gave; it has ended."""
        return self._given.result()

    def _goes_on(self) -> bool:
        self._listen()
        if not self._runs:
            self._given.result()
        return self._runs

    def _listen(self) -> None:
        self._next = self._asked.get()
        self._runs = self._next is not None

    def _wait(self, do: Callable[[], A], /) -> A:
        answer: Future[A] = Future()
        self._asked.put((do, answer))
        return answer.result()
