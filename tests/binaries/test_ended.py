"""How a program of ours ended, as an error of the tree."""

import re
import signal
from pathlib import Path

import pytest

from taut.binaries.ended import kind_of, last_words, printed
from taut.core.errors import InputError, InterruptedRun, RequirementNotMet, TautError

STATUSES = Path(__file__).parents[2] / "dataplane/base/program.h"


def test_an_exit_status_is_the_same_error_in_both_halves() -> None:
    found = dict(re.findall(r"^\tEXIT_(\w+) = (\d+),", STATUSES.read_text(), re.M))

    assert {name: int(status) for name, status in found.items()} == {
        "DONE": 0,
        "FAILED": TautError.exit_status,
        "BAD_INPUT": InputError.exit_status,
        "UNMET": RequirementNotMet.exit_status,
        "INTERRUPTED": InterruptedRun.exit_status,
    }


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (1, TautError),
        (2, InputError),
        (3, TautError),
        (130, InterruptedRun),
        (-signal.SIGINT, InterruptedRun),
        (-signal.SIGKILL, TautError),
    ],
)
def test_a_status_stands_for_an_error(status: int, kind: type[TautError]) -> None:
    assert kind_of(status) is kind


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (1, "taut-x: warm\ntaut-x: no room\n", "no room"),
        (1, "taut-trace: no room", "taut-trace: no room"),
        (1, "\n", "exit status 1"),
        (-9, "", "ended by signal 9"),
        (-6, "taut-x: no such core", "ended by signal 6: no such core"),
    ],
)
def test_its_last_line_says_why(status: int, said: str, words: str) -> None:
    assert last_words("taut-x", status, said) == words


def test_what_a_signal_ended_early_has_its_document() -> None:
    command = ["/bin/taut-x", "-v"]

    assert printed("taut-x", command, 130, '{"n": 1}', "") == {"n": 1}
    with pytest.raises(TautError, match=r"^x: exit status 1; run /bin/taut-x -v$"):
        printed("taut-x", command, 1, '{"n": 1}', "")
    with pytest.raises(InputError, match=r"^x: --core: no such core$"):
        printed("taut-x", command, 2, "", "taut-x: --core: no such core\n")
