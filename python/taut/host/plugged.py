"""Checks of plug-ins: which ids they may have, and what becomes of one that fails as a program."""

import re
from collections.abc import Iterable
from dataclasses import replace

from taut.host.check import Finding, Remedy, unknown
from taut.host.table import GROUPS, Check
from taut.host.view import CannotJudge, View

_ID = re.compile("([A-Z]{2,8})[0-9]{2}")


def refuses(check: Check) -> str | None:
    """Say why a check may not come from a plug-in; None: it may."""
    found = _ID.fullmatch(check.id)
    if found is None:
        return f"id {check.id!r}: two to eight capitals and two digits are wanted: NIC01"
    if found[1] in GROUPS:
        return f"id {check.id!r}: {found[1]} is a group of taut's catalogue; take another"
    return None


def guarded(check: Check) -> Check:
    """Give the same check; where its code raises an error, it is unknown and has no remedies."""
    judge, remedies = check.judge, check.remedies

    def judged(see: View) -> Finding:
        try:
            return judge(see)
        except CannotJudge:
            raise
        except Exception as error:  # noqa: BLE001 - code of others may raise anything
            why = f"its code failed: {type(error).__name__}: {error}"
            return unknown(why, "a version of its package that works here", check.wanted)

    def proposed(see: View) -> Iterable[Remedy]:
        try:
            return tuple(remedies(see)) if callable(remedies) else ()
        except Exception:  # noqa: BLE001 - as above; its judge says so
            return ()

    return replace(check, judge=judged, remedies=proposed if callable(remedies) else remedies)
