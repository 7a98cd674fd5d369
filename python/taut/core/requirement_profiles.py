"""Requirements that a field of use has, by name: `--profile cps:interval=1ms,survival=2ms`.

What a standard leaves to the application has no default here where none is usual.  Budgets of a
network are not those of one device: give the share that is the device's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taut.core.errors import InputError
from taut.core.requirement import Requirement, parse_requirement


@dataclass(frozen=True)
class Profile:
    """Requirements with settings in braces."""

    requirements: tuple[str, ...]
    settings: Mapping[str, str | None]
    """Values that are used where none is given; None: one must be given."""


PROFILES: Mapping[str, Profile] = {
    # Packets of 32 B payload, a lost one is a failure (3GPP TR 38.913).
    "urllc": Profile(
        ("within({within}) >= {share}",),
        {"within": "1ms", "share": "99.999%"},
    ),
    # Late is later than the transfer interval; a link is up until the survival time is over (3GPP
    # TS 22.104).
    "cps": Profile(
        ("outage({interval}) <= {survival}",),
        {"interval": "1ms", "survival": "1ms"},
    ),
    # Isochronous traffic of IEEE 802.1Q: every packet within one period.
    "tsn-isochronous": Profile(("max < {period}", "loss = 0"), {"period": "1ms"}),
    # eCPRI Transport Network: one packet in ten million late or lost, within a network's budget.
    "ecpri": Profile(
        ("within({within}) >= {share}",),
        {"within": "100us", "share": "99.99999%"},
    ),
    # O-RAN.WG4.CUS: early, on time or late, by a window whose ends the operator decides.
    "oran": Profile(
        ("window({earliest}..{latest}) >= {share}",),
        {"earliest": "0ns", "latest": None, "share": "100%"},
    ),
    # As hosts of a radio unit are tried: what is lost is late, too.
    "ran-host": Profile(
        ("max < {within} for {length}", "loss = 0"),
        {"within": "20us", "length": "12h"},
    ),
}


def profile_requirements(text: str) -> list[Requirement]:
    """Read `NAME` or `NAME:key=value,...`; InputError where it is no profile or lacks a value."""
    name, _, rest = text.strip().partition(":")
    profile = PROFILES.get(name)
    if profile is None:
        raise InputError(f"profile {name!r}: not known; these are: {', '.join(PROFILES)}")
    settings = dict(profile.settings)
    for pair in rest.split(",") if rest else ():
        key, is_given, value = (part.strip() for part in pair.partition("="))
        if not is_given or key not in settings:
            known = ", ".join(f"{key}=..." for key in settings)
            raise InputError(f"profile {text!r}: {key!r} is no setting of it; write {known}")
        settings[key] = value
    missing = [key for key, value in settings.items() if value is None]
    if missing:
        raise InputError(
            f"profile {name!r}: {missing[0]} is not given; write {name}:{missing[0]}=..."
        )
    return [parse_requirement(one.format(**settings)) for one in profile.requirements]


def all_requirements(texts: Sequence[str], profiles: Sequence[str]) -> list[Requirement]:
    """Give those of the profiles and those written out, each once, in order."""
    found = [one for text in profiles for one in profile_requirements(text)]
    found += [parse_requirement(text) for text in texts]
    return list({one.text: one for one in found}.values())
