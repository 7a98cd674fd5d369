"""Which packets taut-forward stamps where they come in and where they leave."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StrictInt

AUTO: Literal["auto"] = "auto"

StampEvery: TypeAlias = Annotated[StrictInt, Field(ge=0, le=0xFFFFFFFF)] | Literal["auto"]
"""One packet in so many; 0: none; auto: as many as MOST_STAMPED allows."""

MOST_STAMPED = 1 << 17
"""Packets of a trial that "auto" stamps: 130 of them lie beyond p99.9, and a hop's stamps take
8 MiB, a quarter of the memory that they are kept in, so that none is written during the trial."""


_STAMPS = 2  # where it comes in and where it leaves


def stamps_per_packet(every: StampEvery) -> float:
    """Give how many stamps one process writes for each packet; "auto" has not chosen yet: none."""
    return 0.0 if every in (AUTO, 0) else _STAMPS / every


def stamp_every(asked: StampEvery, n_packets: int) -> int:
    """Say how many packets there are to one that is stamped, of a trial of `n_packets`.

    None is stamped of 0 packets, which stand for a trial whose packets are not all recorded.
    """
    if asked != AUTO:
        return asked
    return -(-n_packets // MOST_STAMPED)
