"""Prove from the object files that the hot path allocates, locks, logs and divides nowhere.

Builds the call graph of the data plane's objects with objdump and walks it from ROOTS. Fails on a
call to anything outside ALLOWED (so malloc, printf, system call wrappers and locks are found), on
an integer division and on a system call instruction. Calls through a pointer go to an ops table,
whose functions are roots themselves, or to DPDK's drivers, which are not ours to check.

Usage: check_hot_path.py BUILD_DIR     exit status: 0 clean, 1 findings, 2 nothing to check
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# (folder of the object, pattern of the function). Each must match at least once.
ROOTS = [
    ("forwarder", r"worker_run"),
    ("forwarder", r"worker_run_sleeping"),
    ("forwarder", r"\w+_send"),
    ("forwarder", r"\w+_drain"),
    ("nf", r"\w+_process"),
    ("nf", r"\w+_release"),
    ("generator", r"loop_send"),
    ("generator", r"loop_drain"),
    ("traffic", r"\w+_next"),
    ("noise", r"poll_gap_run"),
]

# What a hot path may call besides our own functions, each with its reason.
ALLOWED = {
    "memcpy": "libc, no call into the kernel",
    "memcmp": "libc, no call into the kernel",
    "memmove": "libc, no call into the kernel",
    "memset": "libc, no call into the kernel",
    "__stack_chk_fail": "never returns; only after memory corruption",
    "rte_pktmbuf_free_bulk": "back to the pool's per-core cache",
    "rte_fib_lookup_bulk": "reads the table of routes",
    "rte_fib6_lookup_bulk": "reads the table of routes",
    "rte_acl_classify": "walks what was built at the start",
    "rte_hash_lookup_bulk": "a table of one thread's: no flag asks for its locks",
    "rte_hash_lookup": "likewise",
    "rte_hash_add_key": "likewise; all keys' memory is there from the start",
    "rte_hash_del_key": "likewise",
    "rte_hash_get_key_with_position": "likewise",
    "rte_eth_call_rx_callbacks": "DPDK's inline receive: only where a callback is installed",
    "rte_eth_call_tx_callbacks": "DPDK's inline transmit: only where a callback is installed",
}

# Where a hot path may enter the kernel, and from which root alone: a worker that was asked to sleep
# until packets come (--wait). The one that polls is another root and never gets there.
SLEEPS = {
    "ports_arm": "worker_run_sleeping",
    "ports_sleep": "worker_run_sleeping",
    "ports_disarm": "worker_run_sleeping",
}

FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>[^>]+)>:$")
RELOCATION = re.compile(r"^\s+[0-9a-f]+: R_X86_64_(?:PLT32|PC32|GOTPCRELX?|REX_GOTPCRELX)\s+(\S+)")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t(?P<op>\S+)\s*(?P<rest>.*)$")
TARGET = re.compile(r"<(?P<name>[^>+]+)(?P<offset>\+0x[0-9a-f]+)?>")
SUFFIX = re.compile(r"(\.(cold|part|constprop|isra)(\.\d+)?)+$")


@dataclass
class Function:
    """One function of one object: whom it calls and what it may not contain."""

    folder: str
    object: str
    name: str
    calls: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)


def folder_of(object_file: Path) -> str:
    """Give the source folder: build/dataplane/nf/libnf.a.p/null.c.o is of nf."""
    return object_file.parent.parent.name


def disassemble(object_file: Path) -> list[str]:
    """Give objdump's lines, relocations beside the instructions."""
    command = ["objdump", "-dr", "--no-show-raw-insn", str(object_file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def read_object(object_file: Path) -> Iterator[Function]:
    """Yield each function of an object."""
    function: Function | None = None
    branch = False
    for line in disassemble(object_file):
        if head := FUNCTION.match(line):
            if function:
                yield function
            function = Function(folder_of(object_file), str(object_file), head["name"])
            continue
        if function is None:
            continue
        if relocation := RELOCATION.match(line):
            if branch:
                # symbol-0x4; a section's name (".text.unlikely+0x1f") is the .cold part of
                # some function here, which objdump names at the branch itself.
                symbol = re.sub(r"[-+]0x[0-9a-f]+$", "", relocation[1])
                if not symbol.startswith("."):
                    function.calls.add(symbol)
            continue
        if instruction := INSTRUCTION.match(line):
            branch = read_instruction(function, instruction["op"], instruction["rest"])
    if function:
        yield function


def read_instruction(function: Function, op: str, rest: str) -> bool:
    """Note what the instruction does; say whether it is a branch a relocation may complete."""
    if op.startswith(("div", "idiv")) and not op.startswith(("divs", "divp")):
        function.forbidden.add(f"integer division ({op} {rest})")
    if op in ("syscall", "sysenter", "int"):
        function.forbidden.add(f"system call ({op})")
    if not op.startswith(("call", "j")):
        return False
    target = TARGET.search(rest)
    # Inside the same function there is an offset or its own name; an unrelocated call points to
    # itself with an offset until the relocation completes it.
    if target and target["name"] != function.name and not target["offset"]:
        function.calls.add(target["name"])
    return True


def walk(functions: list[Function]) -> tuple[list[str], int]:
    """Walk from the roots; give findings and the number of functions seen."""
    # A static function is its object's own: two may share a name.
    local = {(f.object, f.name): f for f in functions}
    anywhere = {f.name: f for f in functions}
    findings: list[str] = []
    queue: list[tuple[Function, str]] = []
    for folder, pattern in ROOTS:
        matching = [
            f
            for f in functions
            if f.folder == folder and re.fullmatch(pattern, SUFFIX.sub("", f.name))
        ]
        if not matching:
            findings.append(f"{folder}: no function named {pattern}: ROOTS is out of date")
        queue += [(f, f.name) for f in matching]
    seen: set[tuple[int, bool]] = set()
    while queue:
        function, path = queue.pop()
        root = SUFFIX.sub("", path.split(" -> ")[0])
        visit = (id(function), root in SLEEPS.values())
        if visit in seen:
            continue
        seen.add(visit)
        findings += [f"{path}: {what}" for what in sorted(function.forbidden)]
        for name in sorted(function.calls - set(ALLOWED)):
            if SLEEPS.get(name) == root:
                continue
            callee = local.get((function.object, name)) or anywhere.get(name)
            if callee is None:
                findings.append(f"{path}: calls {name}, which is not allowed on the hot path")
            else:
                queue.append((callee, f"{path} -> {name}"))
    return findings, len({function for function, _ in seen})


def objects(build: Path) -> Iterable[Path]:
    """Give the data plane's objects; tests are no hot path."""
    return sorted(p for p in build.glob("dataplane/**/*.o") if "_test" not in p.parent.name)


def main(arguments: list[str]) -> int:
    """Check the build directory named on the command line."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    functions = [f for o in objects(Path(arguments[0])) for f in read_object(o)]
    if not functions:
        print(f"check_hot_path: {arguments[0]}: no objects; run make build", file=sys.stderr)
        return 2
    findings, n_seen = walk(functions)
    for finding in findings:
        print(f"check_hot_path: {finding}", file=sys.stderr)
    print(f"hot path: {n_seen} functions reached, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
