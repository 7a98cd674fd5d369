"""A made-up trial that failed."""

import json
from pathlib import Path


def fail_trial(trial: Path) -> None:
    """Make a whole trial one that failed before its device ran."""
    meta = json.loads((trial / "trial.json").read_text())
    reason = f"{meta['dut']['driver']}: killed by SIGSEGV"
    failure = {"reason": reason, "log_tail": ["oops"]}
    meta |= {"status": "failed", "failure": failure, "generator": {}}
    meta["dut"] |= {"path": "", "guest": None}
    (trial / "trial.json").write_text(json.dumps(meta, indent=1))
    for records in trial.glob("*.parquet"):
        records.unlink()
