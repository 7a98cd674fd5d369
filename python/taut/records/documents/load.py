"""What a trial was to do, in the words that results.json has for it: its load and its device."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from taut.records.documents.json_field import LEFT_OUT
from taut.records.documents.neighbour import IDLE_NEIGHBOUR
from taut.records.documents.trial import AS_FOUND, BARE, Scalar

LOOPBACK = "loopback"
"""The driver without a device: the instrument's floor."""

CAPTURE = "capture"
"""The driver of a pair of captures: somebody else sent the packets."""


@dataclass(frozen=True)
class Load:
    """What was to be sent; None where captures do not say."""

    traffic: str | None = None
    """The name of the load in the experiment file."""
    schedule: str | None = None
    schedule_options: Mapping[str, Scalar] = field(default_factory=dict)
    frame: str | None = None
    """Length in bytes with FCS, or the name of a mix."""
    flows: int | None = None
    both: bool | None = None
    """Whether packets were sent in both directions."""
    asked_pps: float | None = None


@dataclass(frozen=True)
class Device:
    """What it was sent through."""

    dut: str | None = None
    """The name of the device in the experiment file."""
    driver: str | None = None
    link: str | None = None
    placement: str | None = None
    host: str = AS_FOUND
    """The name of the state that the host was in."""
    path: str | None = None
    """The way of a packet through it, in words."""
    neighbour: str | None = field(default=None, metadata=LEFT_OUT)
    """The name of the neighbour it had; None: nobody."""
    claim: str | None = field(default=None, metadata=LEFT_OUT)
    """What its numbers are not, as of an emulated guest; its name says so in short."""
    dut_version: str | None = field(default=None, metadata=LEFT_OUT)
    """Its version, in the first trial of several; None: not noted, as of captures."""

    @property
    def place(self) -> str:
        """The name of its placement: `bare` is the host itself."""
        return self.placement or BARE

    @property
    def called(self) -> str:
        """Its name and what of its surroundings is unusual; the floor has no name."""
        return f"{'floor' if self.is_floor else self.dut}{self.unusual}"

    @property
    def named(self) -> str:
        """Its name in the experiment file, without the claim that a guest adds."""
        return str(self.dut).removesuffix(claim_mark(self.claim))

    @property
    def beside(self) -> str:
        """The neighbour it had, in words: `idle` is nobody."""
        return self.neighbour or IDLE_NEIGHBOUR

    @property
    def surroundings(self) -> tuple[str, str, str]:
        """The state of the host, the placement, and the neighbour."""
        return self.host, self.place, self.beside

    @property
    def unusual(self) -> str:
        """What of its surroundings is not as found, as the end of a name: ", trimmed, cache"."""
        host = "" if self.host == AS_FOUND else f", {self.host}"
        place = "" if self.place == BARE else f", {self.place}"
        return f"{host}{place}" if self.neighbour is None else f"{host}{place}, {self.neighbour}"

    @property
    def is_floor(self) -> bool:
        """Whether there is no device at all."""
        return self.driver == LOOPBACK

    @property
    def is_capture(self) -> bool:
        """Whether its packets were captured, not generated: no floor, no void, no schedule."""
        return self.driver == CAPTURE


def claim_mark(claim: str | None) -> str:
    """Give what a claim adds to a name, in short; nothing where there is none."""
    return "" if claim is None else f" ({claim.partition(':')[0]})"
