"""The recipes of the RFCs as data, short forms of them, and what an experiment file changes.

What differs from the RFC's own form is said in words, wherever results stand.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace

from pydantic import Field, StrictInt

from taut.core.errors import InputError
from taut.core.units import format_ns
from taut.experiment.fields import DurationNs, FrameSize, Model, Share, TrialNs
from taut.records.documents.rfc import (
    BURSTS,
    LATENCY,
    LOSS,
    RECOVERY,
    RESET,
    THROUGHPUT,
    Recipe,
    Rfc,
    Test,
)

_S = 1_000_000_000
_MS = 1_000_000

FRAMES = ("64", "128", "256", "512", "1024", "1280", "1518")
"""RFC 2544 9.1; RFC 8219 5.1.1 has longer ones for what encapsulates."""

_2544 = Recipe(
    rfc="2544",
    tests=(THROUGHPUT, LATENCY, LOSS, RECOVERY, RESET),
    frames=FRAMES,
    both=True,
    warm_up_ns=2 * _S,  # 23 b: learning frames, and two seconds for them to settle
    residue_ns=2 * _S,  # 23 d
    settle_ns=5 * _S,  # 23 e
    repeats=3,
    trial_ns=60 * _S,  # 24
    width=0.005,
    latency_ns=120 * _S,  # 26.2, with the next three
    tag_after_ns=60 * _S,
    tags=1,
    repetitions=20,
    loss_step=0.1,  # 26.3
    overload_ns=60 * _S,  # 26.5
    recovery_ns=60 * _S,
    recoveries=5,
    before_reset_ns=15 * _S,  # RFC 6201 4: forwards for at least so long before anything is done
    after_reset_ns=15 * _S,
    resets=5,
    burst_most_ns=30 * _S,  # RFC 9004 6.2
    burst_step=0.01,
    bursts=50,  # RFC 2544 26.4
)

RECIPES: Mapping[Rfc, Recipe] = {
    "2544": _2544,
    # 7.2 and 7.3; throughput as RFC 2544 has it. Its other tests are RFC 2544's, unmodified.
    "8219": replace(_2544, rfc="8219", tests=(THROUGHPUT, LATENCY), tags=500),
    # 26.4 of RFC 2544 anew, which wants the throughput of each size first.
    "9004": replace(_2544, rfc="9004", tests=(THROUGHPUT, BURSTS)),
}

QUICK: Mapping[str, object] = {
    "frames": ("64", "512", "1518"),
    "warm_up_ns": 200 * _MS,
    "residue_ns": 200 * _MS,
    "settle_ns": 0,
    "repeats": 1,
    "trial_ns": 1 * _S,
    "width": 0.05,
    "latency_ns": 2 * _S,
    "tag_after_ns": 1 * _S,
    "repetitions": 3,
    "overload_ns": 1 * _S,
    "recovery_ns": 1 * _S,
    "recoveries": 2,
    "before_reset_ns": 2 * _S,
    "after_reset_ns": 3 * _S,
    "resets": 1,
    "burst_most_ns": 1 * _S,
    "burst_step": 0.1,
    "bursts": 3,
}
"""What --quick changes, of every recipe."""


class RfcSpec(Model):
    """What an experiment file changes of a recipe; left out: as the RFC has it."""

    recipe: Rfc | None = Field(default=None, description="set by `taut rfc`")
    quick: bool = Field(default=False, description="as --quick: short, and said on every page")
    tests: tuple[Test, ...] | None = Field(default=None, min_length=1)
    """Of the recipe's, those that are run."""
    frames: tuple[FrameSize, ...] | None = Field(default=None, min_length=1)
    """Lengths of frames, in place of [[traffic]]'s."""
    both: bool | None = None
    """Whether both directions are loaded, each at the rate."""
    warm_up_ns: DurationNs | None = Field(default=None, alias="warm_up")
    """Of each trial: what a bridge learns from."""
    residue_ns: TrialNs | None = Field(default=None, alias="residue")
    """How long the last packets are waited for."""
    settle_ns: DurationNs | None = Field(default=None, alias="settle")
    """Pause before each trial."""
    repeats: StrictInt | None = Field(default=None, ge=0, le=100)
    """Of a trial in which the generator was held up."""
    trial_ns: TrialNs | None = Field(default=None, alias="trial")
    """Of a trial of throughput, and of loss."""
    width: Share | None = Field(default=None, gt=0, lt=1)
    """How near the bounds of throughput come to each other."""
    latency_ns: TrialNs | None = Field(default=None, alias="latency")
    """Of a latency trial."""
    tag_after_ns: DurationNs | None = Field(default=None, alias="tag_after")
    """From when on packets count as tagged."""
    tags: StrictInt | None = Field(default=None, ge=1, le=1_000_000)
    """Of each latency trial."""
    repetitions: StrictInt | None = Field(default=None, ge=1, le=1000)
    """Of the latency trial."""
    loss_step: Share | None = Field(default=None, gt=0, lt=1)
    """From one load of the loss test to the next."""
    overload_ns: TrialNs | None = Field(default=None, alias="overload")
    """How long the device gets too much."""
    recovery_ns: TrialNs | None = Field(default=None, alias="recovery")
    """How long it is watched afterwards."""
    recoveries: StrictInt | None = Field(default=None, ge=1, le=1000)
    """How often the device is overloaded."""
    before_reset_ns: TrialNs | None = Field(default=None, alias="before_reset")
    """Load before the device is restarted."""
    after_reset_ns: TrialNs | None = Field(default=None, alias="after_reset")
    """How long it is watched afterwards."""
    resets: StrictInt | None = Field(default=None, ge=1, le=1000)
    """How often the device is restarted."""
    burst_most_ns: TrialNs | None = Field(default=None, alias="burst_most")
    """How long the longest burst may take."""
    burst_step: Share | None = Field(default=None, gt=0, lt=1)
    """How near the bounds of a burst's length come to each other."""
    bursts: StrictInt | None = Field(default=None, ge=1, le=1000)
    """How often that is searched."""


def recipe_of(rfc: Rfc, changed: RfcSpec) -> Recipe:
    """Give the recipe that is carried out. InputError: its parts contradict each other."""
    recipe = RECIPES[rfc]
    if changed.quick:
        recipe = replace(recipe, **QUICK)  # type: ignore[arg-type]
    own = {
        field.name: value
        for field in fields(Recipe)
        if field.name != "rfc" and (value := getattr(changed, field.name)) is not None
    }
    if "frames" in own:
        own["frames"] = tuple(dict.fromkeys(map(str, own["frames"])))
    recipe = replace(recipe, **own)
    strange = [test for test in recipe.tests if test not in RECIPES[rfc].tests]
    if strange:
        known = ", ".join(RECIPES[rfc].tests)
        raise InputError(f"rfc.tests: {strange[0]}: no test of RFC {rfc}; its tests are {known}")
    if LATENCY in recipe.tests and recipe.tag_after_ns >= recipe.latency_ns:
        raise InputError(
            f"rfc.tag_after {format_ns(recipe.tag_after_ns)}: the latency trial is over after "
            f"{format_ns(recipe.latency_ns)}; lower rfc.tag_after, or lengthen rfc.latency"
        )
    # Every other test starts from the throughput.
    return replace(recipe, tests=tuple(dict.fromkeys((THROUGHPUT, *recipe.tests))))


def shortened(recipe: Recipe) -> list[str]:
    """Say what a recipe has other than its RFC, of what its tests use."""
    whole = RECIPES[recipe.rfc]
    said = []
    left_out = [test for test in whole.tests if test not in recipe.tests]
    if left_out:
        said.append(f"left out: {', '.join(left_out)}")
    for name, (what, spell, users) in _WORDS.items():
        has, own = getattr(whole, name), getattr(recipe, name)
        if has != own and users & set(recipe.tests):
            said.append(f"{what} {spell(own)} instead of {spell(has)}")
    return said


def _time(value: object) -> str:
    return format_ns(value) if isinstance(value, int) and value else "none"


def _share(value: object) -> str:
    return f"{100 * value:g} %" if isinstance(value, float) else str(value)


def _sizes(value: object) -> str:
    return f"{', '.join(value)} B" if isinstance(value, tuple) else str(value)


def _ways(value: object) -> str:
    return "both" if value else "one"


_ALL = frozenset((THROUGHPUT, LATENCY, LOSS, RECOVERY, RESET, BURSTS))

_WORDS: Mapping[str, tuple[str, Callable[[object], str], frozenset[Test]]] = {
    "frames": ("frame sizes", _sizes, _ALL),
    "both": ("directions", _ways, _ALL),
    "warm_up_ns": ("warm-up", _time, _ALL),
    "residue_ns": ("wait for the last packets", _time, _ALL),
    "settle_ns": ("pause between trials", _time, _ALL),
    "repeats": ("repetitions where the generator was held up", str, _ALL),
    "trial_ns": ("trials of throughput and loss", _time, frozenset((THROUGHPUT, LOSS))),
    "width": ("bounds of throughput within", _share, _ALL),
    "latency_ns": ("latency trials", _time, frozenset((LATENCY,))),
    "tag_after_ns": ("tags after", _time, frozenset((LATENCY,))),
    "tags": ("tags of a trial", str, frozenset((LATENCY,))),
    "repetitions": ("latency trials in number", str, frozenset((LATENCY,))),
    "loss_step": ("steps of the load in the loss test", _share, frozenset((LOSS,))),
    "overload_ns": ("overload", _time, frozenset((RECOVERY,))),
    "recovery_ns": ("watched after the overload", _time, frozenset((RECOVERY,))),
    "recoveries": ("recoveries in number", str, frozenset((RECOVERY,))),
    "before_reset_ns": ("load before the restart", _time, frozenset((RESET,))),
    "after_reset_ns": ("watched after the restart", _time, frozenset((RESET,))),
    "resets": ("restarts in number", str, frozenset((RESET,))),
    "burst_most_ns": ("longest burst allowed", _time, frozenset((BURSTS,))),
    "burst_step": ("bounds of the burst within", _share, frozenset((BURSTS,))),
    "bursts": ("searches for the longest burst", str, frozenset((BURSTS,))),
}
"""How each part is told, and the tests that use it."""
