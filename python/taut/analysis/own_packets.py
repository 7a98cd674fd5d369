"""What became of the packets that a trial sent, each once, from its records."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from taut.records import parquet
from taut.records.layout import EXTRA_RECORD, PacketFlag

ROWS = 1 << 20
NONE = -1
"""Stands for a time that is not there."""

Ints = npt.NDArray[np.int64]


def own_packets(
    packets: Path, columns: Sequence[str], n_rows: int = ROWS, *, with_cold: bool = False
) -> Iterator[list[Ints]]:
    """Read these columns of a trial's own packets, batch by batch, in the order of the file.

    `with_cold`: those of the warm-up, too.
    """
    left_out = int(EXTRA_RECORD if with_cold else EXTRA_RECORD | PacketFlag.COLD)
    with parquet.opened(packets) as file:
        for batch in file.iter_batches(n_rows, columns=sorted({*columns, "flags"})):
            # Before they are read as numbers: what others sent may have any sequence number.
            own = batch.filter(pa.array(batch["flags"].to_numpy() & left_out == 0))
            yield [_ints(own[name]) for name in columns]


def _ints(column: pa.Array) -> Ints:
    found: Ints = pc.fill_null(column.cast(pa.int64()), NONE).to_numpy(zero_copy_only=False)
    return found
