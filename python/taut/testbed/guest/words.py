"""taut-forward's command line as the host means it, and as its guest reads it.

The driver knows nothing of guests: it names sockets, cores and files of the host. In the guest a
port is a PCI device, cores are virtual, and files lie in its memory until they are fetched. What
the program then reports it understood is put back into the host's words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from taut.core.errors import TrialError
from taut.core.files import write_json
from taut.records.documents.json_form import Json, JsonObject, plain, read_object
from taut.records.layout import RecordKind
from taut.testbed.guest.qemu import guest_address

PROGRAM = "taut-forward"
_PORT = "virtio"
"""Kind of the device's ends: what QEMU and the guest's driver make between them."""
_RECORDS = {"gaps": RecordKind.GAP, "stamps": RecordKind.STAMP, "stats": None}
_FOLDER = "/out"


@dataclass(frozen=True)
class Output:
    """A file that the program writes in the guest, and where the host wants it."""

    guest: str
    host: Path
    records: RecordKind | None
    """None: it is the report, in JSON."""


@dataclass(frozen=True)
class Words:
    """A command line for the guest, and the way back."""

    argv: tuple[str, ...]
    sockets: tuple[Path, ...]
    outputs: tuple[Output, ...]
    meant: JsonObject
    """Options whose values differ, as the host gave them."""
    sleeps: bool
    """Whether it waits for interrupts of its ports."""


def translate(argv: Sequence[str], n_cpus: int) -> Words:
    """Give the guest's words; the device runs on its last virtual CPU."""
    words, ports = [PROGRAM], list[str]()
    sockets, outputs, meant = list[Path](), list[Output](), dict[str, Json]()
    given = iter(argv[1:])
    for word in given:
        name = word.removeprefix("--")
        if word == "--":
            words += [word, *given]
        elif name == "port":
            ports.append(next(given))
            words += [word, f"pci:{guest_address(len(sockets))}"]
            sockets.append(_socket_of(ports[-1]))
        elif name in ("core", "writer-core"):
            meant[name] = next(given)
            words += [word, str(n_cpus - 1) if name == "core" else "0"]
        elif name in _RECORDS:
            host = next(given)
            meant[name] = host
            outputs.append(Output(f"{_FOLDER}/{name}", Path(host), _RECORDS[name]))
            words += [word, outputs[-1].guest]
        else:
            words.append(word)
    meant["port"] = ports
    sleeps = any(pair[0] == "--wait" and pair[1] != "poll" for pair in pairwise(argv))
    if sleeps:
        # VFIO would have virtual addresses, of which a card that goes past the IOMMU knows nothing.
        words += [*([] if "--" in words else ["--"]), "--iova-mode=pa"]
    return Words(tuple(words), tuple(sockets), tuple(outputs), meant, sleeps)


def with_gaps_above(words: Words, threshold: str) -> Words:
    """Have shorter turns of the program's loop logged as no gaps, if nobody said what is one."""
    if "--gap-threshold" in words.argv:
        return words
    program, *rest = words.argv
    return replace(words, argv=(program, "--gap-threshold", threshold, *rest))


def put_back(stats: Path, meant: JsonObject) -> None:
    """Rewrite what a report says it understood into the words the host used."""
    document = dict(read_object(stats.read_text()) or {})
    understood = document.get("understood")
    if isinstance(understood, dict):
        said = {name: value for name, value in meant.items() if name in understood}
        document["understood"] = {**understood, **said}
    document["in_guest"] = {"core": document.pop("core", None)}
    write_json(stats, plain(document))


def _socket_of(port: str) -> Path:
    kind, _, rest = port.partition(":")
    if kind != _PORT:
        raise TrialError(f"guest: port {port}: a guest's ports are of link vhost")
    return Path(rest.partition(",")[0])
