"""hipnet21: how far is the tail from the median? A forwarder and an IPS at 10 to 120 kpkt/s.

Gallenmüller, Wiedner, Naab, Carle, "Ducked Tails: Trimming the Tail Latency of(f) Packet
Processing Systems", HiPNet 2021.  Their captures (repository gallenmu/hipnet21) were stamped in
hardware for every packet, so from them the very numbers must come out; from a run on this machine
only the shape can.
"""

from collections.abc import Mapping, Sequence

from taut.reproduce.experiment import PublishedExperiment, Section, Variants
from taut.reproduce.hipnet21 import live
from taut.reproduce.hipnet21.captures import compare_captures
from taut.reproduce.hipnet21.tables import compare_live
from taut.reproduce.in_states import TRIMMED

SKIPPED = "1s"
"""Skipped at the start, as in the columns that the published table calls filtered."""


class Hipnet21(PublishedExperiment):
    """The experiment and its published numbers."""

    name = "hipnet21"
    skip_of_captures = SKIPPED
    states = (TRIMMED,)

    def optional_devices(self) -> Mapping[str, str]:
        """Give what is built from DPDK's sources, wants root, or is somebody else's program."""
        return live.OPTIONAL

    def optional_places(self) -> Mapping[str, str]:
        """Give the virtual machines, which want QEMU."""
        return dict.fromkeys(live.MACHINES, live.VM)

    def spec_text(self, *, quick: bool, without: Sequence[str] = ()) -> str:
        """Write the paper's loads; quick is four of them, short, and makes no claim."""
        return live.spec_text(quick=quick, without=without)

    def compare(self, variants: Variants) -> list[Section]:
        """Set published beside measured: number by number for captures, else the shape."""
        captures = [row for row in variants if row.device.is_capture]
        return compare_captures(captures) if captures else compare_live(variants)


HIPNET21 = Hipnet21()
