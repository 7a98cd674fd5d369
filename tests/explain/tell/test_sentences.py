"""Who had a core, in words."""

from taut.explain.tell.sentences import culprit


def test_a_cause_that_is_not_known_here_is_named_as_it_is() -> None:
    assert culprit("agent", "") == "agent"
    assert culprit("agent", '"agentd"') == 'agent, "agentd"'
    assert culprit("preemption", '"mypy"') == 'another thread, "mypy"'
