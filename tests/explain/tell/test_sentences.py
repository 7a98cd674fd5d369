"""Who had a core, in words."""

import pytest

from taut.explain.tell.result import GapStory
from taut.explain.tell.sentences import culprit, gap_sentence


def test_a_cause_that_is_not_known_here_is_named_as_it_is() -> None:
    assert culprit("agent", "") == "agent"
    assert culprit("agent", '"agentd"') == 'agent, "agentd"'
    assert culprit("preemption", '"mypy"') == 'another thread, "mypy"'


@pytest.mark.parametrize(
    ("thread", "stood"),
    [
        ("forwarder", "did not poll"),
        ("generator", "did not poll"),
        # Found in the kernel's events: whether it polls or sleeps nobody asked.
        ("kernel", "did not run the thread"),
        ("softirq", "held packets"),
    ],
)
@pytest.mark.parametrize(
    ("cause", "detail", "why"),
    [
        ("unknown", "", ", and nothing recorded says why"),
        ("unknown", "nobody knows", ": nobody knows"),
        ("trace-lost", "", ", and the events of that time were lost"),
    ],
)
def test_only_who_polls_did_not_poll(
    thread: str, stood: str, cause: str, detail: str, why: str
) -> None:
    gap = GapStory(thread, 3, 0, 5_000_000, cause, "D", detail, (), ())

    assert gap_sentence(gap, "core 3") == f"core 3 {stood} for 5 ms{why}"
