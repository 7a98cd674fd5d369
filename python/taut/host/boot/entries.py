"""Boot loader entries (BLS), one for each kernel that is installed: they come and go with these."""

from collections.abc import Mapping, Sequence

from taut.host.host import Host
from taut.host.journal_lines import Entry
from taut.host.setting import Setting
from taut.host.settings.placed_file import PlacedFile

ENTRIES = (
    "/boot/loader/entries/*.conf",
    "/boot/efi/loader/entries/*.conf",
    "/efi/loader/entries/*.conf",
)


def is_boot_entry(setting: Setting) -> bool:
    """Whether a setting is such an entry."""
    return isinstance(setting, PlacedFile) and "/loader/entries/" in setting.path


def still_with_ours(host: Host, undone: Sequence[Entry]) -> Mapping[str, str]:
    """Give, by path, the parameters that entries have from applies that are taken back.

    A kernel that was installed meanwhile got them from /etc/kernel/cmdline, and boot counting
    gives an entry another name: undo knows neither.
    """
    placed = [entry for entry in undone if is_boot_entry(entry.setting)]
    if not placed:
        return {}
    first = min(entry.generation for entry in placed)
    theirs = {word for each in placed if each.generation == first for word in _words(each.old)}
    ours = {word for each in placed for word in _words(each.wanted) - _words(each.old)} - theirs
    found = {}
    for path in (path for pattern in ENTRIES for path in host.paths(pattern)):
        if words := ours & _words(host.read(path)):
            found[path] = " ".join(sorted(words))
    return found


def _words(text: str | None) -> set[str]:
    """Give the words of an entry's options lines."""
    lines = (line.split() for line in (text or "").splitlines())
    return {word for words in lines if words[:1] == ["options"] for word in words[1:]}
