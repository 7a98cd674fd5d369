"""What an experiment is: immutable, checked once, unknown keys are errors.

A file (examples/ has whole ones):

    name = "first-look"          # letters, digits, _, . and -
    seed = 1                     # of the order and of every schedule
    repetitions = 3              # of every trial; the run is the unit of a claim
    duration = "10s"             # measured time of a trial
    # count = 1_000_000          # instead of a duration: packets of a trial
    warm_up = "1s"               # before it, reported apart ("cold")
    deadline = "1s"              # a packet later than this after its sending is lost
    gap_threshold = "5us"        # a longer pause of the generator's loop is a gap, and told
    record = "auto"              # all | tail | none | auto: all up to 1 Mpkt/s, else none
    trace = "auto"               # continuous | tail | off | auto: what the kernel did on the cores
    order = "interleaved"        # trials of all devices in turn; or "listed"
    floor = true                 # measure the instrument over links used; left out: not over pci

    [cores]                      # which core does what; left out, taut chooses
    generator = 0                # its number, or "auto"
    device = 1                   # likewise
    writer = 0                   # likewise: where records are written to disk

    [[device]]
    driver = "taut_forward"      # what runs
    name = "buffered"            # the driver's when left out; tells two of one driver apart
    link = "memif"               # the driver's first choice when left out
    placement = "bare"           # its one place; those of [[placement]] when left out
    options = { transmit = "buffered:32,100us" }  # of the driver

    [[host]]                     # states of the machine, measured in turn; left out: as it is
    name = "as found"            # as tables call it; nothing more: nothing is changed

    [[host]]
    name = "trimmed"
    profile = "recommended"      # as `taut host apply` takes it
    # only = ["R24", "R22"]      # instead of a profile: checks or remedies
    without = ["R06"]            # checks or remedies to leave out

    [[placement]]                # where devices run; left out: bare
    name = "bare"                # as tables call it; the kind's when left out

    [[placement]]
    kind = "container"           # bare | container | vm; the name's when left out
    name = "image"
    options = { root = "alpine" }  # of the kind
    devices = ["taut_*"]         # which devices are measured there (patterns over names)

    [[neighbour]]                # who else is busy, in turn; left out: nobody
    kind = "idle"                # idle (nobody) | cache | memory | system_calls | network | disk

    [[neighbour]]
    kind = "cache"
    name = "cache"               # the kind's when left out
    cores = "others"             # whose: others (nobody's) | device | generator; or a list, "2-3"
    workers = 1                  # of each of its stressors, on each core

    [[traffic]]
    name = "main"                # the schedule's when left out
    schedule = "burst"           # constant | jittered | poisson | burst | step
    options = { size = 32 }      # of the schedule
    frames = [64, "imix"]        # Ethernet frame with FCS, bytes
    rates = ["100kpps", "50Mbps"]  # each is a load of its own
    rate_layer = "l2"            # what a rate in bit/s counts: l2 the frame, l1 the wire too
    flows = 1                    # UDP source ports, in turn
    both = false                 # load both directions
    devices = ["*"]              # which devices get this load (patterns over names)
    trace = "off"                # this load is not traced, whatever the others are
    # duration, count, warm_up, repetitions, record, floor: as above, for this load only
    # restart = "10s"            # stop the device so long after the generator began, and start it

    [search]                     # of `taut search`, as is [[goal]]
    min = "1kpps"                # the loads it looks between, of each direction
    max = "20Mpps"               # at most what the loopback carries
    limit = "20m"                # for each device, under each load
    repeats = 3                  # of a trial in which the generator was held up

    [[goal]]                     # left out: ndr and pdr
    name = "pdr"                 # ndr: loss = 0, pdr: loss = "0.5%"; others say theirs
    loss = "0.5%"                # share of packets lost that is allowed
    # or within = "1ms", share = "99.999%": as many packets in time; later ones count as lost
    trial = "1s"                 # a trial's length at the end; first_trial = at the beginning
    sum = "21s"                  # trials at a load until it is judged
    exceed = 0.5                 # share of that time that may lose more
    width = "0.5%"               # how near the bounds come to each other

    [rfc]                        # changes of a recipe of `taut rfc` (experiment/recipes.py)
    frames = [64, 1518]          # lengths of frames, in place of [[traffic]]'s
    repetitions = 20             # of the latency trial

    [require]                    # judged at the end: pass, fail (status 3), or not shown
    "p99.99" = "< 25us"          # as `taut check --require` takes them
    loss = "= 0"
    profile = "urllc:within=1ms" # as --profile takes them; or a list of them

    [links.pci]                  # options of a link kind; of pci, which ports are wired
    generator = ["0000:3b:00.0", "0000:3b:00.1"]

A trial is one device in one place under one load once, in one state of the host, beside one
neighbour: host x placement x neighbour x device x traffic x frame x rate x repetition. Two tables
of one traffic name add loads to one curve: other rates, other lengths or devices, else the same.
"""

from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    Field,
    StrictFloat,
    StrictInt,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from taut.core.errors import InputError
from taut.core.units import offered_pps
from taut.core.words import did_you_mean
from taut.dut.driver import DriverOptions, DutDriver
from taut.dut.drivers import DRIVERS
from taut.experiment import contradictions
from taut.experiment.fields import (
    Core,
    DurationNs,
    Frame,
    FrameSize,
    Model,
    Name,
    RateText,
    Record,
    Requirements,
    TraceMode,
    TrialNs,
)
from taut.experiment.goals import GoalSpec, SearchSpec
from taut.experiment.neighbour_spec import NeighbourSpec
from taut.experiment.placed import PlacementSpec
from taut.experiment.recipes import RfcSpec
from taut.experiment.words import explain
from taut.host.check import Profile
from taut.host.checks import CHECKS
from taut.host.plan import check_names
from taut.host.state import HostState
from taut.records.documents.load import LOOPBACK
from taut.records.documents.trial import AS_FOUND, BARE
from taut.testbed.links import LINKS

IMIX = ((64, 7), (570, 4), (1518, 1))
"""Simple IMIX: length and share (dataplane/traffic/frame_mix.c sends it)."""

MOST_REPETITIONS = 100_000
"""More than a day of trials, however short; each is planned before the first one runs."""

_STATE_NAME = r"^[a-z0-9][a-z0-9_. +-]*$"


class CoreSpec(Model):
    """Which core does what."""

    generator: Core = "auto"
    device: Core = "auto"
    writer: Core = "auto"


class DeviceSpec(Model):
    """One device under test."""

    driver: str
    name: Name = Field("", validate_default=False)
    link: str = ""
    placement: Name = BARE
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: object, info: ValidationInfo) -> object:
        if not isinstance(data, dict) or not isinstance(data.get("driver"), str):
            return data
        driver = data["driver"]
        if driver not in DRIVERS:
            raise ValueError(f"unknown driver {driver!r}{did_you_mean(driver, DRIVERS.names())}")
        filled = {"name": driver, "link": DRIVERS[driver].link_kinds[0], **data}
        if isinstance(info.context, Path) and isinstance(options := data.get("options"), dict):
            filled["options"] = DRIVERS[driver].options_type.seen_from(info.context, options)
        return filled

    @model_validator(mode="after")
    def _fits_its_driver(self) -> Self:
        if self.link not in LINKS:
            raise ValueError(f"unknown link {self.link!r}{did_you_mean(self.link, LINKS)}")
        kinds = self.dut.link_kinds
        if self.link not in kinds:
            raise ValueError(
                f"driver {self.driver} cannot use link {self.link!r}; it uses {', '.join(kinds)}"
            )
        why = self.driver_options.refuses_link(self.link)
        if why is not None:
            raise ValueError(f"link {self.link!r}: {why}")
        return self

    @property
    def is_floor(self) -> bool:
        """Whether there is no device at all: the instrument is measured."""
        return self.driver == LOOPBACK

    @property
    def own_place(self) -> str | None:
        """The one place where it is measured; None: the file does not say, so those of the axis."""
        return self.placement if "placement" in self.model_fields_set else None

    @property
    def dut(self) -> DutDriver:
        return DRIVERS[self.driver]

    @property
    def driver_options(self) -> DriverOptions:
        """The options as the driver's own model."""
        try:
            return self.dut.options_type(**self.options)
        except ValidationError as error:
            raise ValueError(f"options: {explain(error)}") from None


class HostSpec(Model):
    """One state of the machine; without profile and only, it is as found."""

    name: str = Field(pattern=_STATE_NAME)
    profile: Literal["minimal", "recommended", "extreme"] | None = None
    only: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if self.profile is not None and self.only is not None:
            raise ValueError(
                f"host {self.name!r}: profile and only are both given; take one (only names checks "
                "or remedies whatever the profile)"
            )
        if self.name == AS_FOUND and not self.is_as_found:
            raise ValueError(
                f"host {self.name!r}: names the host that nothing is changed of, which others are "
                "compared with; give it another name"
            )
        if self.without and self.profile is None and self.only is None:
            raise ValueError(
                f"host {self.name!r}: without leaves out of nothing; add profile or only"
            )
        try:
            check_names(CHECKS, self.only or (), f"host {self.name!r}: only:")
            check_names(CHECKS, self.without, f"host {self.name!r}: without:")
        except InputError as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def state(self) -> HostState:
        """The state in the form that host/state.py enters."""
        profile = None if self.profile is None else Profile[self.profile.upper()]
        return HostState(self.name, profile, self.only, self.without)

    @property
    def is_as_found(self) -> bool:
        """Whether nothing is changed."""
        return self.profile is None and self.only is None


class TrafficSpec(Model):
    """One load, over all its frames and rates."""

    name: Name = ""
    schedule: str = Field("constant", pattern=r"^[a-z0-9_]+$")
    options: dict[str, str | StrictInt | StrictFloat] = Field(default_factory=dict)
    frames: tuple[FrameSize, ...] = Field((64,), min_length=1)
    rates: tuple[RateText, ...] = Field(min_length=1)
    rate_layer: Literal["l1", "l2"] = "l2"
    flows: StrictInt = Field(1, ge=1, le=64_512)
    both: bool = False
    devices: tuple[str, ...] = ("*",)
    duration_ns: TrialNs | None = Field(None, alias="duration")
    count: StrictInt | None = Field(None, ge=1, lt=1 << 64)
    warm_up_ns: DurationNs | None = Field(None, alias="warm_up")
    repetitions: StrictInt | None = Field(None, ge=1, le=MOST_REPETITIONS)
    record: Record | None = None
    trace: Literal["off"] | None = None
    floor: bool | None = None
    restart_ns: TrialNs | None = Field(None, alias="restart")

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: object) -> object:
        if isinstance(data, dict):
            return {"name": data.get("schedule", "constant"), **data}
        return data

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        contradictions.refuse_two_lengths(self.duration_ns, self.count)
        for frame, rate in product(self.frames, self.rates):
            try:
                self.pps_of(frame, rate)
            except InputError as error:
                raise ValueError(f"{error} (frames of {frame})") from None
        return self

    @property
    def least_pps(self) -> float:
        """The lowest of its rates, in packets per second of each direction."""
        return min(self.pps_of(frame, rate) for frame, rate in product(self.frames, self.rates))

    def pps_of(self, frame: Frame, rate: str) -> float:
        """Give a rate in packets per second of each direction. InputError: it cannot be sent."""
        return offered_pps(rate, mean_frame_len(frame), self.rate_layer)

    @property
    def n_ways(self) -> int:
        """How many directions are loaded."""
        return 2 if self.both else 1

    def takes(self, device: DeviceSpec) -> bool:
        """Whether a device gets this load."""
        return any(fnmatchcase(device.name, pattern) for pattern in self.devices)


class Spec(Model):
    """An experiment file after validation; plan.py makes trials of it."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    seed: StrictInt = Field(1, ge=0, lt=1 << 63)
    repetitions: StrictInt = Field(1, ge=1, le=MOST_REPETITIONS)
    duration_ns: TrialNs | None = Field(None, alias="duration")
    count: StrictInt | None = Field(None, ge=1, lt=1 << 64)
    warm_up_ns: DurationNs = Field(1_000_000_000, alias="warm_up")
    deadline_ns: TrialNs = Field(1_000_000_000, alias="deadline")
    gap_threshold_ns: TrialNs | None = Field(None, alias="gap_threshold")
    record: Record = "auto"
    trace: TraceMode = "auto"
    order: Literal["interleaved", "listed"] = "interleaved"
    floor: bool = True
    require: Requirements = ()
    cores: CoreSpec = CoreSpec()
    device: tuple[DeviceSpec, ...] = Field(min_length=1)
    host: tuple[HostSpec, ...] = ()
    neighbour: tuple[NeighbourSpec, ...] = ()
    placement: tuple[PlacementSpec, ...] = ()
    traffic: tuple[TrafficSpec, ...] = Field(min_length=1)
    links: dict[str, dict[str, Any]] = Field(default_factory=dict)
    search: SearchSpec = SearchSpec()
    goal: tuple[GoalSpec, ...] = ()
    rfc: RfcSpec = RfcSpec()

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        contradictions.check(self)
        return self

    @property
    def changes_host(self) -> bool:
        """Whether a state of the host is anything but as found."""
        return any(not host.is_as_found for host in self.host)

    def warm_up_of(self, traffic: TrafficSpec) -> int:
        """Give the warm-up of a load in ns: its own, else the experiment's."""
        return self.warm_up_ns if traffic.warm_up_ns is None else traffic.warm_up_ns


def mean_frame_len(frame: Frame) -> float:
    """Give the length of a frame in bytes; for a mix, its mean."""
    if frame == "imix":
        return sum(size * n for size, n in IMIX) / sum(n for _, n in IMIX)
    return float(frame)
