"""A trim for an experiment, from its plan to the last packet: what command and API share."""

from pathlib import Path

from taut.core.files import write_json
from taut.experiment.model import Spec
from taut.experiment.plan import make_plan
from taut.experiment.preflight import require
from taut.experiment.progress import Progress
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import choose_cores, measuring, situation_of
from taut.host.host import Host
from taut.host.state import HostState, plan_state, refuse_unmeasurable, wishes_of
from taut.records.documents.results import Analysis
from taut.records.documents.trim import TRIM_FILE
from taut.records.rundir import RunDirectory
from taut.trim.document import with_causes
from taut.trim.job import Job
from taut.trim.looks import LEAST_PAIRS
from taut.trim.packets import PacketsBench, check_target, repetition_seconds


def check_trim(job: Job, spec: Spec, target: str, budget: str) -> None:
    """Check what must hold before measuring; InputError says what does not."""
    check_target(spec, target)
    one, two = (repetition_seconds(spec, n) for n in (1, 2))
    job.check(budget, one + LEAST_PAIRS * two, "--set duration=1s")
    require(make_plan(spec, repetitions=range(1, 2)))
    if job.request.only:
        _check_state(job.request.trimmed, spec)


def _check_state(state: HostState, spec: Spec) -> None:
    """InputError: the state keeps taut's own programs off its cores, so no trial could be in it."""
    host = Host()
    situation = situation_of(host, choose_cores(host, spec), spec)
    refuse_unmeasurable(host, state, wishes_of(plan_state(host, situation, state), state))


def measure_trim(
    job: Job,
    spec: Spec,
    target: str,
    directory: Path,
    progress: Progress,
    origin: Origin,
    *,
    wait: bool,
) -> None:
    """Measure every state that the job asks for; leave the host as found, and trim.json."""
    plan = make_plan(spec, repetitions=range(1, 2))
    with measuring(
        plan, directory, None, progress, origin, wait=wait, in_parts=True, in_states=True
    ) as session:
        job.measure(
            PacketsBench(session, spec, target),
            session.states.situation,
            progress.noted,
            scouting="The host as found, once, to see what makes its packets late.",
            target=target,
            cores=session.cores.to_quiet,
        )
        write_trim(job, directory)


def write_trim(job: Job, run: Path) -> None:
    """Write trim.json as far as it is known."""
    write_json(run / TRIM_FILE, job.plain())


def publish_trim(job: Job, run: RunDirectory, analysis: Analysis) -> None:
    """Add the causes after the trim to trim.json."""
    job.document = with_causes(job.document, analysis.trials)
    write_trim(job, run.path)
