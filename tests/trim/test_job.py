"""What a trim's budget is spent on, what it tells, and what --keep may call in force."""

import pytest

from host_tree import POLL, SLEEP
from made_trim import IdleBench, Tenth
from taut.core.cpus import CpuSet
from taut.core.errors import InputError, TautError
from taut.host.apply import Outcome, Result, Wish
from taut.host.setting import Change
from taut.host.settings import FileSetting
from taut.report.trim import last_lines
from taut.testbed.core_locks import busy_cores
from taut.trim import job as jobs
from taut.trim import trim as trims
from taut.trim.job import Job, nobody_measures, refused_by_machine
from taut.trim.trim import Request, Trimmed


class Clock:
    """Stands still but for what is added."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


def test_a_trim_tells_whether_its_device_polled_or_slept() -> None:
    job = Job(Request(), keep=False, yes=True, dry_run=True)

    job.measure(
        IdleBench(), lambda: SLEEP, lambda _: None, scouting="", target="p99", cores=SLEEP.cores
    )

    assert job.plain()["waiting"] == ["sleeps"]


def test_while_it_waits_for_an_answer_nothing_of_the_budget_is_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(jobs, "time", clock)
    monkeypatch.setattr(trims, "time", clock)

    def think(found: Trimmed) -> None:
        assert [one.remedy for one in found.candidates] == ["R24-now"]
        clock.now_s += 1_000

    job = Job(Request(budget_s=60), keep=False, yes=False, dry_run=False, ask=think)
    job.measure(Tenth(), lambda: POLL, lambda _: None, scouting="", target="p99", cores=(1,))

    assert (job.document.verdict, job.document.kept) == ("helps", ("R24-now",))
    assert job.document.took_s == 0.0


def result(remedy: str, outcome: Outcome) -> Result:
    change = Change(FileSetting(f"/proc/{remedy}", "number"), "1")
    return Result(Wish(remedy, change), "0", "1", outcome)


def test_what_helps_is_not_put_in_force_under_another_measurement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def another_measures(cores: CpuSet) -> None:
        raise InputError(f"one of {len(cores)} cores: another measures there; wait for its end")

    monkeypatch.setattr(jobs, "refuse_others", another_measures)
    monkeypatch.setattr(jobs, "apply_changes", lambda *_: pytest.fail("the host was changed"))
    job = Job(Request(), keep=True, yes=True, dry_run=False)
    job.measure(Tenth(), lambda: POLL, lambda _: None, scouting="", target="p99", cores=(1, 2))

    with pytest.raises(TautError, match=r"of [1-9]\d* cores: another measures there; ") as no:
        job.put_in_force(lambda: None)

    assert str(no.value).endswith("then `taut host apply --cores 1-2 --only R24-now`")
    assert no.value.exit_status == 1
    assert not job.document.in_force


@pytest.mark.parametrize(
    ("other", "in_force", "end"),
    [
        (Outcome.IN_FORCE, True, "unmovable; the other changes are: `taut host undo` takes them"),
        (Outcome.ALREADY, False, "unmovable"),
    ],
)
def test_what_the_machine_does_not_take_is_told_and_the_rest_is_in_force(
    other: Outcome, in_force: bool, end: str
) -> None:
    job = Job(Request(), keep=True, yes=True, dry_run=False)
    job.measure(Tenth(), lambda: POLL, lambda _: None, scouting="", target="p99", cores=(1, 2))

    with pytest.raises(TautError, match=f"^--keep: not in force: R05-now: {end}"):
        job._tell([result("R24-now", other), result("R05-now", Outcome.UNMOVABLE)])

    assert job.document.in_force is in_force
    assert f"--keep: not in force: R05-now: {end}" in job.document.notes[-1]
    said = " ".join(last_lines(job.document))
    assert ("In force now: taut host undo" in said) is in_force
    assert ("The host is as it was" in said) is not in_force


def test_no_measurement_begins_while_the_host_is_changed() -> None:
    # No machine has it: no run of another test holds it.
    with nobody_measures((8189,), "later"):
        assert busy_cores((8189,)) == (8189,)

    assert busy_cores((8189,)) == ()


def test_a_remedy_of_which_some_threads_cannot_be_moved_is_in_force() -> None:
    assert (
        refused_by_machine(
            [
                result("R24-now", Outcome.UNMOVABLE),
                result("R24-now", Outcome.IN_FORCE),
                result("R06-now", Outcome.ALREADY),
            ]
        )
        == []
    )


def test_a_remedy_of_which_nothing_is_in_force_is_named_once() -> None:
    said = refused_by_machine(
        [
            result("R05-now", Outcome.UNMOVABLE),
            result("R05-now", Outcome.UNMOVABLE),
            result("R06-now", Outcome.OTHER_VALUE),
        ]
    )

    assert said == ["R06-now: /proc/R06-now: took another value", "R05-now: unmovable"]
