"""From a column to the few classes of it that may stand out; the exact tests come after.

The screen only saves time. It generously lets through what is unlikely on the scale of the whole
capture; the exact tests decide what is believed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from taut.analysis.content.fields import Column, Kind
from taut.analysis.content.heads import Ints
from taut.analysis.content.layers import Mask, Values
from taut.analysis.content.tails import LARGEST_CLASS, Floats, Tail

_LARGE_CLASS = 64
_SMALL_TAIL = 16  # small classes are looked for in the slowest 1 / 16
_LOG_P_SCREEN = -11.0
_BEST_OF_COLUMN = 16
_N_CODES = 1 << 16


@dataclass(frozen=True)
class Candidate:
    """A class that may stand out: some packets, and what they have in common."""

    field: str
    value: str
    kind: Kind
    is_bit: bool
    is_exclusion: bool
    """All packets but those of one value."""
    n_members: int
    n_packets: int
    log_p: float
    """Log of the p-value as the screen estimates it: rather too small than too large."""
    _packed: npt.NDArray[np.uint8]  # one bit a packet: hundreds of classes stay small

    @property
    def name(self) -> str:
        """Field and value, as a reader is told."""
        return f"{self.field} = {self.value}"

    @property
    def members(self) -> Ints:
        """Indices of its packets."""
        return np.flatnonzero(self.mask)

    @property
    def mask(self) -> Mask:
        """One flag a packet: whether it belongs to the class."""
        return np.unpackbits(self._packed, count=self.n_packets).view(bool)

    @property
    def plainness(self) -> tuple[int, bool, bool]:
        """Sorts descriptions of the same packets, the plainest first."""
        return self.kind, self.is_exclusion, self.is_bit

    def overlap(self, mask: Mask, n_members: int) -> float:
        """Jaccard's index with other packets."""
        if min(n_members, self.n_members) <= 0.5 * max(n_members, self.n_members):
            return 0.5  # at most, without counting
        n_both = int(np.count_nonzero(mask & self.mask))
        return n_both / (n_members + self.n_members - n_both)


class Screen:
    """One column as small codes, and how often each code lies in each tail."""

    def __init__(self, column: Column, tails: Sequence[Tail]) -> None:
        self.column = column
        self._tails = tails
        self._n = len(column.values)
        self._is_valid = np.ones(self._n, bool) if column.valid is None else column.valid
        self._n_valid = int(np.count_nonzero(self._is_valid))
        self._n_repeated = 0
        codes, self._values = self._encode()
        self._codes = codes
        self._m = np.bincount(codes[codes >= 0], minlength=len(self._values))
        self._n_values = int(np.count_nonzero(self._is_class(self._m)))
        self._bits = self._splitting_bits()

    @property
    def n_classes(self) -> int:
        """Classes of this column that could be tested: values, what is not the main one, bits."""
        return (
            max(self._n_values, self._n_repeated)
            + (self._main_value() is not None)
            + 2 * len(self._bits)
        )

    def _encode(self) -> tuple[Ints, Values]:
        """Number the values; -1 is none, or one that too few packets hold."""
        values = self.column.values
        if values.dtype.itemsize <= 2:
            codes = values.astype(np.int64)
            known = np.arange(256 if values.dtype.itemsize == 1 else _N_CODES)
        else:
            known = self._repeated_values()
            codes = np.minimum(np.searchsorted(known, values), max(len(known) - 1, 0))
            codes = np.where(known[codes] == values, codes, -1) if len(known) else codes - 1
        codes[~self._is_valid] = -1
        return codes, known

    def _repeated_values(self) -> Values:
        known, counts = np.unique(self.column.values[self._is_valid], return_counts=True)
        known = known[counts >= 2]
        self._n_repeated = len(known)
        return known if len(known) <= _N_CODES else self._repeated_in_tails(known)

    def _repeated_in_tails(self, known: Values) -> Values:
        parts = []
        for tail in self._tails:
            found, counts = np.unique(self.column.values[tail.rows], return_counts=True)
            parts.append(found[counts >= 2])
        return np.intersect1d(known, np.concatenate(parts))

    def _is_class(self, m: Ints) -> Mask:
        return (m >= 2) & (m <= LARGEST_CLASS * self._n)

    def _main_value(self) -> int | None:
        """The value of more than half the packets, if at least two have others."""
        main = int(self._m.argmax()) if len(self._m) else 0
        if len(self._m) == 0 or 2 * self._m[main] <= self._n_valid:
            return None
        return main if self._n_valid - self._m[main] >= 2 else None

    def _splitting_bits(self) -> list[int]:
        """Bits worth a test of their own: those of a byte of more than two values."""
        if self.column.kind is not Kind.BYTE or np.count_nonzero(self._m) <= 2:
            return []
        n_set = [int(self._m[self._has_bit(bit)].sum()) for bit in range(8)]
        return [bit for bit in range(8) if 2 <= n_set[bit] <= self._n_valid - 2]

    def _has_bit(self, bit: int) -> Mask:
        return (self._values >> bit & 1).astype(bool)

    def candidates(self) -> Iterator[Candidate]:
        """Give the classes that stand out on the scale of the whole capture."""
        # What stands out in any tail, and how much.
        codes: dict[int, float] = {}
        bits: dict[tuple[int, int], float] = {}
        rest = 0.0
        for tail in self._tails:
            hits, known = self._hits(tail)
            strengths = _log_p(hits, self._m[known], tail.depths, self._n)
            strengths[~self._is_class(self._m[known])] = 0.0
            best = np.argsort(strengths)[:_BEST_OF_COLUMN]
            for code, log_p in zip(known[best].tolist(), strengths[best], strict=True):
                codes[code] = min(codes.get(code, 0.0), log_p)
            for side, log_p in self._bit_strengths(tail, hits):
                bits[side] = min(bits.get(side, 0.0), log_p)
            rest = min(rest, self._rest_strength(tail, hits, known))
        for code, log_p in sorted(codes.items()):
            if log_p < _LOG_P_SCREEN:
                value = self.column.show(int(self._values[code]))
                yield self._candidate(self._codes == code, value, log_p)
        for (number, is_set), log_p in sorted(bits.items()):
            if log_p < _LOG_P_SCREEN:
                mask = self._is_valid & ((self.column.values >> number & 1) == is_set)
                yield self._candidate(mask, "set" if is_set else "clear", log_p, bit=number)
        if rest < _LOG_P_SCREEN:
            yield self._rest(rest)

    def _hits(self, tail: Tail) -> tuple[Ints, Ints]:
        """Packets of each code in the tail (one column a depth), and the codes that count."""
        n_depths = len(tail.depths)
        codes = self._codes[tail.rows]
        if len(self._values) <= 256:
            known = np.arange(len(self._values))
        else:
            early = codes[: self._n // _SMALL_TAIL]
            in_tail = np.bincount(early[early >= 0], minlength=len(self._values))
            is_known = (in_tail >= 2) | (self._m >= _LARGE_CLASS)
            main = self._main_value()
            if main is not None:
                is_known[main] = True
            known = np.flatnonzero(is_known)
        number = np.full(len(self._values) + 1, -1)
        number[known] = np.arange(len(known))
        numbers = number[codes]  # code -1 reads the last, which is none
        cell = (numbers * n_depths + tail.row_depth)[numbers >= 0]
        counts = np.bincount(cell, minlength=len(known) * n_depths)
        return np.cumsum(counts.reshape(len(known), n_depths), axis=1), known

    def _bit_strengths(self, tail: Tail, hits: Ints) -> Iterator[tuple[tuple[int, int], float]]:
        for bit in self._bits:
            for is_set in (0, 1):
                has = self._has_bit(bit) == bool(is_set)
                m = self._m[has].sum(keepdims=True)
                if self._is_class(m)[0]:
                    of_bit = hits[has].sum(axis=0, keepdims=True)
                    yield (bit, is_set), float(_log_p(of_bit, m, tail.depths, self._n)[0])

    def _rest_strength(self, tail: Tail, hits: Ints, known: Ints) -> float:
        main = self._main_value()
        if main is None:
            return 0.0
        is_valid = self._is_valid[tail.rows]
        n_valid = np.cumsum(np.bincount(tail.row_depth[is_valid], minlength=len(tail.depths)))
        of_rest = n_valid - hits[np.flatnonzero(known == main)[0]]
        m = np.array([self._n_valid - self._m[main]])
        return float(_log_p(of_rest[None, :], m, tail.depths, self._n)[0])

    def _rest(self, log_p: float) -> Candidate:
        main = self._main_value()
        assert main is not None
        mask = self._is_valid & (self._codes != main)
        value = self.column.show(int(self._values[main]))
        return self._candidate(mask, f"not {value}", log_p, is_exclusion=True)

    def _candidate(
        self,
        mask: Mask,
        value: str,
        log_p: float,
        *,
        bit: int | None = None,
        is_exclusion: bool = False,
    ) -> Candidate:
        return Candidate(
            field=self.column.name if bit is None else f"{self.column.name} bit {bit}",
            value=value,
            kind=self.column.kind,
            is_bit=bit is not None,
            is_exclusion=is_exclusion,
            n_members=int(np.count_nonzero(mask)),
            n_packets=self._n,
            log_p=log_p,
            _packed=np.packbits(mask),
        )


def _log_p(hits: Ints, m: Ints, depths: Ints, n: int) -> Floats:
    """Poisson's upper tail at the best depth, one a class; for small ones as if 4 times rarer."""
    expected = np.maximum(m, 1)[:, None] * depths[None, :] / n
    expected = np.where(m[:, None] < _LARGE_CLASS, expected / 4, expected)
    is_more = (hits >= 2) & (hits > expected)
    ratio = np.where(is_more, hits / expected, 1.0)
    log_p = np.where(is_more, hits - expected - hits * np.log(ratio), 0.0)
    return np.asarray(log_p.min(axis=1, initial=0.0))
