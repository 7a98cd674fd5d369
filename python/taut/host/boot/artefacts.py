"""Every form in which boot configuration can be written."""

from collections.abc import Callable, Mapping, Sequence

from taut.core.errors import InputError
from taut.host.boot.bls import bls_files
from taut.host.boot.context import BootContext
from taut.host.boot.grub import grub_files
from taut.host.boot.guest import guest_files
from taut.host.boot.systemd import systemd_files
from taut.host.boot.tuned import tuned_files
from taut.host.boot.wish import BootWish

Form = Callable[[Sequence[BootWish], BootContext], dict[str, str]]
"""Pure: wishes and a context in, texts by path out."""

# One line per form. To add one: a file in this folder, and its line here.
FORMS: Mapping[str, Form] = {
    "grub": grub_files,
    "bls": bls_files,
    "tuned": tuned_files,
    "systemd": systemd_files,
    "guest": guest_files,
}


def artefacts(form: str, wishes: Sequence[BootWish], context: BootContext) -> dict[str, str]:
    """Give the files of one form; InputError for a form there is not, or wishes that conflict."""
    if form not in FORMS:
        raise InputError(f"no boot form {form!r}; there are {', '.join(FORMS)}")
    return FORMS[form](wishes, context)
