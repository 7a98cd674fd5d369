"""`taut explain --self-test`: whether explain tells the truth on this machine.

First every cause, on a poller of taut-inject's; then every packet path, with all that may happen to
it. Either can be narrowed, and then only what was named is tested.
"""

import json
import os
import platform
import sys
from collections.abc import Sequence

from rich.console import Console

from taut.core.errors import InputError, InterruptedRun, TautError
from taut.experiment.interrupt import interruptible
from taut.explain.causes import OF_INJECTOR
from taut.records.documents.json_form import plain
from taut.records.documents.self_test import ControlOfCauses, SelfTestDocument
from taut.report.paragraph import print_note
from taut.self_test.cause_report import Result, print_result
from taut.self_test.cause_trials import LEAST_NS, cause_documents, made_here, place_on, run
from taut.self_test.path_report import PathResults, path_documents, path_line, print_paths
from taut.self_test.path_trials import missing_on, path_trials
from taut.self_test.paths import PATHS, PacketPath, paths_of


def print_self_test(
    core: int,
    n_acts: int,
    most_ns: int,
    causes: Sequence[str],
    paths: Sequence[str],
    as_json: bool,
) -> None:
    """Test causes and paths, all where none is named; print what became of acts and verdicts."""
    for name in causes:
        if name not in OF_INJECTOR:
            raise InputError(f"--cause {name}: not one of {', '.join(OF_INJECTOR)}")
    chosen = paths_of(paths)
    if n_acts < 1:
        raise InputError(f"--acts {n_acts}: at least 1")
    if not causes and not paths:
        causes, chosen = made_here(), PATHS
    console, load = Console(stderr=True), os.getloadavg()[0]
    result, of_paths = None, PathResults()
    with interruptible():
        if causes:
            with place_on(core) as place:
                result = run(place, n_acts, most_ns, causes, console)
        if chosen:
            of_paths = run_paths(core, chosen, n_acts, console)
    if as_json:
        document = _document(core, result, of_paths, (load, os.getloadavg()[0]))
        json.dump(plain(document), sys.stdout)
        print()
        return
    if result is not None:
        print_result(Console(), result)
    print_paths(Console(), of_paths)


def run_paths(core: int, paths: Sequence[PacketPath], n_acts: int, console: Console) -> PathResults:
    """Test each path that this machine has. TautError: none could be."""
    results = PathResults()
    for path in paths:
        if (why := missing_on(path, core)) is not None:
            results.skipped[path.name] = why
            print_note(console, f"{path.name}: skipped: {why}")
    there = [path for path in paths if path.name not in results.skipped]
    if there:
        with path_trials(core, there, n_acts) as run_path:
            for path in there:
                try:
                    with console.status(f"{path.name}: a control, then acts"):
                        one = run_path(path)
                except KeyboardInterrupt:
                    raise InterruptedRun("interrupted; nothing was kept") from None
                except TautError as error:
                    results.skipped[path.name] = f"failed: {error}"
                    print_note(console, f"{path.name}: not proved: {error}")
                    continue
                results.found.append(one)
                print_note(console, path_line(one))
    if not results.found:
        raise TautError("; ".join(f"{name}: {why}" for name, why in results.skipped.items()))
    return results


def _document(
    core: int, result: Result | None, paths: PathResults, load: tuple[float, float]
) -> SelfTestDocument:
    nothing = ControlOfCauses()
    return SelfTestDocument(
        core=core,
        kernel=platform.release(),
        load_average=load,
        least_ns=LEAST_NS,
        control=ControlOfCauses(result.control_seconds, result.control) if result else nothing,
        causes=cause_documents(result) if result else (),
        not_proved=result.not_proved if result else {},
        paths=path_documents(paths),
        paths_skipped=paths.skipped,
    )
