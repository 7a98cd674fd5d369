"""A device in a guest: what its host's events cannot know is not told as a cause."""

import pytest

from made_trace import (
    HOG,
    KWORKER,
    POLLER,
    PREEMPTED,
    SLEEPS,
    STOPPED,
    MadeTrace,
    held,
    normal,
    write_trace,
    write_trial,
)
from taut.explain import Options, explain_trial

MS = 1_000_000
START, END = 10 * MS + 5_000, 15 * MS + 5_000
DEVICE = 50
"""The device's thread in the guest; on the host POLLER is the virtual CPU."""
NOTHING = MadeTrace().vector(1, 2)
BUSY = MadeTrace().switch(START + 100, POLLER, HOG, PREEMPTED).switch(END - 100, HOG, POLLER)


def explain(tmp_path, host, guest, gap=(START, END), until=END, error_ns=10_000):
    """A device that stood still until a time, and the gap that its guest logged."""
    of_guest = {
        "claim": None,
        "kernel": "6.1",
        "parameters": "",
        "cpu": 1,
        "cpu_thread": POLLER,
        "program": DEVICE,
        "clock": {"method": "made up", "error_ns": error_ns},
    }
    dut = {
        "driver": "taut_forward",
        "link": "memif",
        "options": {},
        "stats": {"gaps": {"per_packet_ns": 250}},
        "guest": of_guest,
    }
    rows = held(normal(3_000), gap[0], until)
    trial = write_trial(tmp_path, rows, [(*gap, "forwarder")], host, meta={"dut": dut})
    if guest is not None:
        (trial / "guest").mkdir()
        write_trace(trial / "guest", guest)
    return explain_trial(trial, Options(over="20us"))


def only_story(found):
    [story] = found.worst
    return story


def test_what_the_guest_ran_instead_is_no_hypervisor(tmp_path):
    own = MadeTrace().switch(START + 100, DEVICE, KWORKER).switch(END - 100, KWORKER, DEVICE)

    found = explain(tmp_path, NOTHING, own)

    story = only_story(found)
    assert (story.cause, story.grade, story.missing) == ("unknown", "D", ())
    words = 'the guest\'s own kernel ran "kworker/1:0" instead'
    assert story.line.endswith(f"late: core 1 did not poll for 5 ms: {words}.")
    [offender] = found.offenders
    assert (offender.cause, offender.who) == ("unknown", words)


def test_that_its_virtual_cpu_slept_in_a_call_is_none_of_the_devices(tmp_path):
    host = MadeTrace().add(START + 100, "syscall_entry", 16)
    host.switch(START + 2_000, POLLER, 0, SLEEPS).switch(END - 200, 0, POLLER)
    own = MadeTrace().switch(START + 1_000, DEVICE, 0, STOPPED).switch(END - 1_000, 0, DEVICE)

    story = only_story(explain(tmp_path, host, own))

    assert (story.cause, story.grade) == ("unknown", "D")
    assert "the guest's own kernel ran nobody instead" in story.line


def test_a_call_in_which_the_guest_runs_is_no_system_call(tmp_path):
    host = MadeTrace().add(START + 100, "syscall_entry", 16)

    found = explain(tmp_path, host, MadeTrace())

    assert only_story(found).cause == "unknown"
    assert "the kernels of guest and host both say that it ran" in only_story(found).line
    assert "syscall" not in {share.label for share in only_story(found).gap.shares if share.ns}
    # That nobody else ever ran in the guest is no damage.
    assert any("1 of no known cause" in note for note in found.notes)


def test_a_sleep_of_which_the_guest_knows_nothing_is_the_hosts(tmp_path):
    host = MadeTrace().add(START + 100, "syscall_entry", 202)
    host.switch(START + 200, POLLER, 0, SLEEPS).switch(END - 200, 0, POLLER)

    story = only_story(explain(tmp_path, host, MadeTrace()))

    assert story.cause == "unknown"
    assert "the virtual CPU did not run on the host" in story.line


def test_who_took_the_virtual_cpus_core_is_told(tmp_path):
    story = only_story(explain(tmp_path, BUSY, MadeTrace()))

    assert (story.cause, story.grade) == ("preemption", "B")
    assert '"hog"' in story.line


def test_without_a_trace_of_the_guest_only_that_is_told(tmp_path):
    taken = only_story(explain(tmp_path / "busy", BUSY, None))
    nothing = only_story(explain(tmp_path / "nothing", NOTHING, None))

    assert (taken.cause, nothing.cause) == ("preemption", "unknown")
    assert "guest and host were not both traced then" in nothing.line


@pytest.mark.parametrize("shown", ["an event", "the gap alone"])
def test_a_switch_back_that_is_missing_before_a_gap_takes_no_part_of_it(tmp_path, shown):
    """Kernel 6.18 leaves out nearly all switches that leave an idle core."""
    own = MadeTrace().switch(START - 2 * MS, DEVICE, 0, SLEEPS)
    host = MadeTrace().switch(START - 2 * MS, POLLER, 0, SLEEPS)
    if shown == "an event":
        own.vector(START - MS, START - MS + 400, thread=DEVICE)
        host.vector(START - MS, START - MS + 400)
    own.switch(END + MS, DEVICE, 0, SLEEPS)
    host.switch(END + MS, POLLER, 0, SLEEPS)

    for folder, of_guest in (("of the host", MadeTrace()), ("of both", own)):
        found = explain(tmp_path / folder, host, of_guest)

        assert "the kernels of guest and host both say that it ran" in only_story(found).line
        assert any("1 of no known cause" in note for note in found.notes)


def test_a_switch_back_that_is_missing_within_a_gap_is_told_by_the_next_event(tmp_path):
    own = MadeTrace().switch(START + 100, DEVICE, 0, SLEEPS)
    own.vector(START + MS, START + MS + 400, thread=DEVICE).switch(END + MS, DEVICE, 0, SLEEPS)

    story = only_story(explain(tmp_path, NOTHING, own))

    assert "the kernels of guest and host both say that it ran" in story.line


def test_where_events_were_not_kept_nobody_is_said_to_have_run(tmp_path):
    host = MadeTrace().switch(START + 100, POLLER, 0, SLEEPS)
    host.add(START + 200, "skipped", 9, END - 200).switch(END + MS, 0, POLLER)

    found = explain(tmp_path, host, MadeTrace())

    [note] = [note for note in found.notes if "in the guest" in note]
    assert note.endswith("1 not known whose (events were lost or not kept; the longest 5.0 ms)")


def test_who_had_the_core_after_a_loss_is_not_known_until_the_next_switch(tmp_path):
    own = MadeTrace().switch(START + 100, DEVICE, KWORKER)
    own.add(START + 900_000, "lost", 0, START + 950_000).switch(END + MS, KWORKER, DEVICE)

    found = explain(tmp_path / "lost", NOTHING, own)

    assert "guest and host were not both traced then" in only_story(found).line
    assert any("in the guest: 1 not known whose" in note for note in found.notes)
    # Until the loss it is known, and so from the next switch on.
    own = MadeTrace().add(START - 900, "lost", 0, START - 800)
    own.switch(START + 100, DEVICE, KWORKER).add(END - 900, "lost", 0, END - 800)
    assert 'ran "kworker/1:0" instead' in only_story(explain(tmp_path / "had", NOTHING, own)).line


@pytest.mark.parametrize(("error_ns", "cause"), [(499_000, "preemption"), (501_000, "unknown")])
def test_a_gap_of_a_few_errors_of_the_clocks_is_nobodys(tmp_path, error_ns, cause):
    story = only_story(explain(tmp_path, BUSY, MadeTrace(), error_ns=error_ns))

    assert story.cause == cause
    assert ("too short to tell whose it was" in story.line) is (cause == "unknown")


def test_packets_within_the_error_of_the_clocks_speak_against_no_gap(tmp_path):
    found = explain(tmp_path, BUSY, MadeTrace(), until=END - 50_000, error_ns=100_000)

    assert only_story(found).cause == "preemption"
    assert found.vetoed.n == 0
