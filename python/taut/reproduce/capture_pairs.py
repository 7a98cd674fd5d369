"""Find the pairs of captures in a folder by their names: NAME-RATE-pre and NAME-RATE-post."""

import re
from collections.abc import Iterator
from pathlib import Path

from taut.capture.pair_run import Pair
from taut.core.errors import InputError
from taut.core.units import parse_rate

NAMING = (
    "NAME-RATE-pre.pcap and NAME-RATE-post.pcap, RATE like 10kpps; .pcapng, .gz and .zst will do, "
    "and folders count as parts of the name"
)

_CAPTURE = re.compile(r"(?P<stem>.+?)\.(?:pcap|pcapng|cap)(?:\.(?:gz|zst))?", re.IGNORECASE)
_SIDE = re.compile(r"(?P<rest>.+)[-_](?P<side>pre|post)")
_RATE = re.compile(r"(?:^|[-_])(?P<rate>\d+(?:\.\d+)?[kKMG]?pps)(?=[-_]|$)")

_Name = tuple[str, float]


def find_pairs(folder: Path) -> list[Pair]:
    """Give every pair below a folder, by name and rate; a file without its other half is wrong."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give one that holds {NAMING}")
    sides: dict[_Name, dict[str, Path]] = {}
    for name, side, path in _captures(folder):
        files = sides.setdefault(name, {})
        if side in files:
            raise InputError(f"{path}: {files[side]} has the same name; keep one of them there")
        files[side] = path
    if not sides:
        raise InputError(f"{folder}: no captures in it are named {NAMING}")
    for files in sides.values():
        if len(files) == 1:
            [(side, path)] = files.items()
            other = "post" if side == "pre" else "pre"
            raise InputError(f"{path}: its -{other} is missing; add it, or move this file away")
    return [
        Pair(name, files["pre"], files["post"], pps) for (name, pps), files in sorted(sides.items())
    ]


def _captures(folder: Path) -> Iterator[tuple[_Name, str, Path]]:
    for path in sorted(folder.rglob("*")):
        capture = _CAPTURE.fullmatch("-".join(path.relative_to(folder).parts))
        side = _SIDE.fullmatch(capture["stem"]) if capture else None
        rate = _RATE.search(side["rest"]) if side else None
        if side and rate:
            name = (side["rest"][: rate.start()] + side["rest"][rate.end() :]).strip("-_")
            yield (name or "capture", parse_rate(rate["rate"]).pps(0)), side["side"], path
