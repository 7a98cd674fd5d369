"""What bench/self_disturbance.py calls a piece."""

from collections.abc import Sequence

import numpy as np

from self_disturbance import UNKNOWN, Piece, pieces_of

GENERATOR, TRACE, WRITER, KWORKER, OTHER = 10, 11, 12, 2, 90
NAMES = {GENERATOR: "taut-generate", TRACE: "taut-trace", WRITER: "taut-writer", KWORKER: "kworker"}
OWN = {GENERATOR, TRACE, WRITER}


def pieces(*switches: tuple[int, int], window: tuple[int, int] = (0, 10_000)) -> Sequence[Piece]:
    """Give the pieces of a core that went to a thread at each time."""
    times, threads = np.array(switches, np.int64).T
    return [*pieces_of(times, threads, window, NAMES, OWN)]


def test_a_piece_lasts_until_the_generator_is_back():
    found = pieces((-50, GENERATOR), (1000, TRACE), (1300, GENERATOR))

    assert found == [Piece("taut-trace", True, 1000, 300)]


def test_two_of_tauts_own_without_the_generator_between_are_one_piece_of_the_longer():
    found = pieces((0, GENERATOR), (1000, WRITER), (1100, TRACE), (1300, GENERATOR))

    assert found == [Piece("taut-trace", True, 1000, 300)]


def test_other_threads_are_pieces_of_their_own():
    found = pieces((0, GENERATOR), (500, TRACE), (600, KWORKER), (640, OTHER), (700, GENERATOR))

    assert found == [
        Piece("taut-trace", True, 500, 100),
        Piece("kworker", False, 600, 40),
        Piece("thread 90", False, 640, 60),
    ]


def test_the_generator_is_the_one_of_tauts_own_that_had_most_though_others_had_more():
    found = pieces((0, OTHER), (6000, GENERATOR), (9000, TRACE), (9100, GENERATOR))

    assert found == [Piece("thread 90", False, 0, 6000), Piece("taut-trace", True, 9000, 100)]


def test_only_what_lies_in_the_window_counts():
    found = pieces((-500, GENERATOR), (-90, TRACE), (40, GENERATOR), (9990, WRITER))

    assert found == [Piece("taut-trace", True, 0, 40), Piece("taut-writer", True, 9990, 10)]


def test_what_a_tail_trace_did_not_keep_is_nobodys():
    found = pieces((0, GENERATOR), (1000, TRACE), (1100, UNKNOWN), (9000, GENERATOR))

    assert found == [Piece("taut-trace", True, 1000, 100)]
