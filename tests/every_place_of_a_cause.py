"""Print, as JSON, what each place that tells of causes says of one: run with the tree to ask first.

    PYTHONPATH=TREE:tests:devtools every_place_of_a_cause.py FOLDER ID FUNCTION

A device stands still in FOLDER's trial because another core had FUNCTION called on its core.
"""

import contextlib
import io
import json
import sys
from pathlib import Path

import reference
from made_trace import VMSTAT, MadeTrace, held, normal, write_trial
from taut.cli.main import run_command
from taut.explain import Options, as_document, explain_trial
from taut.explain.export.perfetto import write_perfetto
from taut.report import palette
from taut.report.explanation import rows
from taut.self_test.cause_trials import _not_proved

MS = 1_000_000


def places(folder: Path, cause: str, function: str) -> dict[str, object]:
    """What each of them says; lines only where they name it."""
    start, end = 10 * MS, 10 * MS + 60_000
    trace = MadeTrace().call(start + 1_000, end - 2_000, VMSTAT, sent_at=start)
    gaps = [(start, end, "forwarder")]
    functions = {str(VMSTAT): function}
    packets = held(normal(3_000), start, end)
    trial = write_trial(folder, packets, gaps, trace, {"status": "whole"}, functions=functions)
    found = explain_trial(trial, Options())
    document = as_document(found)
    write_perfetto(found, folder / "trace.perfetto")
    return {
        "timeline": [share.label for share in found.worst_gaps[0].shares],
        "verdict": found.worst[0].cause,
        "sentence": found.worst[0].line,
        "missing": list(found.worst[0].missing),
        "terminal": output("explain", str(folder)),
        "json": [total.cause for total in document.causes],
        "report": [row.colour for row in rows(document)],
        "style_sheet": f"--cause-{cause}:#" in palette.style_sheet(),
        "light": palette.LIGHT.get(f"@cause-{cause}"),
        "perfetto": cause.encode() in (folder / "trace.perfetto").read_bytes(),
        "reference": [line for line in reference.python_tables() if line.startswith(f"| {cause} ")],
        "not_proved": _not_proved([], {}).get(cause),
        "self_test": output("explain", "--self-test", "--cause", "gremlins"),
    }


def output(*arguments: str) -> str:
    """What a command prints, as one line."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        run_command(list(arguments))
    return " ".join(text.getvalue().split())


if __name__ == "__main__":
    json.dump(places(Path(sys.argv[1]), *sys.argv[2:]), sys.stdout)
