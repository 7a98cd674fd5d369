"""What taut's own checks make of a guest: its kernel parameters, and its audit.

Both are judged on the host, from the copied /proc and /sys of a guest, by the commands that a user
has: `taut host cmdline` and `taut host audit` with `--root`.
"""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from taut.core.errors import TrialError
from taut.records.documents.audit import AuditDocument
from taut.records.documents.host import CmdlineDocument
from taut.records.documents.json_form import parse, read_object
from taut.testbed.guest.channel import Channel
from taut.testbed.guest.qemu import Shape
from taut.testbed.guest.tree import fetch_tree

RECOMMENDED, NONE = "recommended", "none"
_KEPT = 8


def tree_folder(shape: Shape, base: Path, cache: Path) -> Path:
    """Give where the tree of a guest of this shape is kept: the same boot gives the same tree."""
    what = f"{base.name} {shape.accelerator} {shape.cpus} {shape.memory_mib} {shape.parameters}"
    return cache / "trees" / hashlib.sha256(what.encode()).hexdigest()[:16]


def keep_tree(shape: Shape, tree: Path, control: Channel) -> None:
    """Fetch the tree of a guest that runs, unless it is kept. The cache is held."""
    if tree.exists():
        return
    new = tree.with_name(f".new-{tree.name}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    fetch_tree(control, shape.kernel, new)
    new.rename(tree)
    kept = sorted(tree.parent.iterdir(), key=lambda path: path.stat().st_mtime)
    for old in kept[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def parameters_of(asked: str, poll_core: int, plain_tree: Callable[[], Path]) -> str:
    """Give the kernel's parameters; `plain_tree` is of a guest that was booted without any."""
    if asked == NONE:
        return ""
    if asked != RECOMMENDED:
        return asked
    found = _judge("cmdline", plain_tree(), poll_core)
    return parse(CmdlineDocument, read_object(found), "taut host cmdline").cmdline


def audit(tree: Path, poll_core: int, out: Path) -> str:
    """Write the audit of a guest, and give its result in words."""
    said = _judge("audit", tree, poll_core)
    out.write_text(said)
    counts = parse(AuditDocument, read_object(said), "taut host audit").counts
    n_failed, n_all = counts.get("FAIL", 0), sum(counts.values())
    return f"audit of the guest: {n_failed} of {n_all} checks failed ({out.name})"


def _judge(command: str, tree: Path, poll_core: int) -> str:
    argv = [sys.executable, "-m", "taut.cli.main", "host", command, "--role", "kvm-guest"]
    argv += ["--cores", str(poll_core), "--root", str(tree), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if not done.stdout:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise TrialError(f"guest: taut host {command}: {said[0]}")
    return done.stdout
