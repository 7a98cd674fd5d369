"""The longest burst of which nothing is lost: its search, over a function that sends one."""

from collections.abc import Callable

from taut.records.documents.rfc import Burst, LongestBurst

SHORTEST = 16
"""Frames of the first burst."""

Send = Callable[[int], Burst]
"""Sends a burst of so many frames."""


def longest_burst(most: int, step: float, send: Send) -> LongestBurst:
    """Double the length until something is lost, then halve what lies between.

    `step`: how near, relatively, the two ends come to each other. Where the generator was held up
    the burst is nobody's, and so is the end that rests on it.
    """
    sent: list[Burst] = []
    kept = 0
    broken: Burst | None = None
    length = min(SHORTEST, most)
    while True:
        sent.append(send(length))
        if sent[-1].lost:
            broken = sent[-1]
        else:
            kept = length
        if broken is None:
            if kept >= most:
                break
            length = min(2 * kept, most)
            continue
        if broken.length - kept <= max(1, step * broken.length):
            break
        length = (kept + broken.length) // 2
    return LongestBurst(
        length=kept,
        is_at_limit=broken is None,
        instrument_limited=broken is not None and broken.instrument_limited,
        bursts=tuple(sent),
    )
