from pathlib import Path

import pytest
from pydantic import ValidationError

from taut.core.errors import TrialError
from taut.dut.drivers.command import CommandDriver, CommandOptions, fill_in
from taut.host.situation import Waiting
from taut.testbed.cleanup import run_processes
from taut.testbed.link import Link
from taut.testbed.scope import RunScope

LINKS = [
    Link("memif", f"memif:g{i}", f"memif:d{i}", socket=Path(f"/run/x{i}.sock")) for i in range(2)
]


def test_placeholders_are_filled_in_and_other_braces_stay(scope: RunScope) -> None:
    argv = ["prog", "{port0}", "-c{core}", "{socket1}", '{"json": {}}', "{log_dir}/x", "{prefix}"]

    filled = fill_in(argv, LINKS, (1, 2), Path("/logs"), scope)

    assert filled == [
        "prog",
        "memif:d0",
        "-c1-2",
        "/run/x1.sock",
        '{"json": {}}',
        "/logs/x",
        f"taut-{scope.id}-command",
    ]


def test_an_unknown_placeholder_is_refused_before_the_run() -> None:
    with pytest.raises(ValidationError, match=r"placeholder \{port2\}; known are \{port0\}"):
        CommandOptions(argv=("prog", "-p{port0},{port2}"))


@pytest.mark.parametrize(
    ("argument", "link", "said"),
    [
        ("{socket0}", "memif", None),
        ("{if1}", "veth", None),
        ("{if1}", "xdp", None),
        ("{port1} {core} {log_dir} {prefix}", "pci", None),
        ("-s{socket0}", "veth", "argv: {socket0} is of memif only; {port0} is of every link"),
        ("{if1}", "memif", "argv: {if1} is of veth and xdp only; {port1} is of every link"),
    ],
)
def test_what_a_link_does_not_have_is_no_empty_word(
    argument: str, link: str, said: str | None
) -> None:
    assert CommandOptions(argv=("prog", argument)).refuses_link(link) == said


@pytest.mark.parametrize(
    "options",
    [
        {"argv": []},
        {"argv": ["x"], "ready": "("},
        {"argv": ["x"], "ready_delay": "soon"},
        {"argv": ["x"], "stop_signal": "INT"},
        {"argv": ["x"], "hugepages": 10**15},
    ],
)
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CommandOptions(**options)


def test_a_program_that_is_not_there_is_named() -> None:
    missing = CommandDriver().missing(CommandOptions(argv=("no-such-program",)))

    assert missing.startswith("command no-such-program: program not found")


def test_a_program_that_ends_at_once_fails_the_trial(scope: RunScope, tmp_path: Path) -> None:
    options = CommandOptions(argv=("sh", "-c", "echo broken; exit 4"), ready_delay="60s")

    with (
        pytest.raises(TrialError, match="sh: ended with exit status 4 at start") as raised,
        CommandDriver().running(LINKS, (0,), options, tmp_path, scope),
    ):
        pass

    assert raised.value.log_tail == ["broken"]


def test_a_program_that_polls_is_declared_so() -> None:
    options = CommandOptions(argv=("vpp",), waits="polls")

    assert CommandDriver().waits(options) is Waiting.POLLS
    assert CommandDriver().waits(CommandOptions(argv=("vpp",))) is Waiting.SLEEPS


@pytest.mark.parametrize("behind", ["", "setsid "], ids=["a child", "a daemon"])
def test_what_a_program_started_does_not_outlive_it(
    behind: str, scope: RunScope, tmp_path: Path
) -> None:
    script = f"{behind}sh -c 'echo it is up; exec sleep 1000' & wait"
    options = CommandOptions(argv=("sh", "-c", script), ready="it is up", stop_signal="SIGTERM")

    with CommandDriver().running(LINKS, (0,), options, tmp_path, scope):
        assert len(run_processes(scope.id)) == 2

    assert run_processes(scope.id) == []
