"""The longest burst of which nothing is lost: its search, over a function that sends one."""

from collections.abc import Callable

from taut.records.documents.rfc import FIRST_BURST, Burst, LongestBurst

Send = Callable[[int], Burst]
"""Sends a burst of so many frames."""


def longest_burst(most: int, step: float, send: Send) -> LongestBurst:
    """Double the length until something is lost, then halve what lies between.

    `step`: how near, relatively, the two ends come to each other. Where the generator was held up
    the burst is nobody's, and so is the search whose ends rest on it.
    """
    sent: list[Burst] = []
    kept: Burst | None = None
    broken: Burst | None = None
    length = min(FIRST_BURST, most)
    while True:
        sent.append(send(length))
        if sent[-1].lost:
            broken = sent[-1]
        else:
            kept = sent[-1]
        n_kept = 0 if kept is None else kept.length
        if broken is None:
            if n_kept >= most:
                break
            length = min(2 * n_kept, most)
            continue
        if broken.length - n_kept <= max(1, step * broken.length):
            break
        length = (n_kept + broken.length) // 2
    return LongestBurst(
        length=n_kept,
        is_at_limit=broken is None,
        instrument_limited=any(end and end.instrument_limited for end in (kept, broken)),
        bursts=tuple(sent),
    )
