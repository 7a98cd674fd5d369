"""Check what no tool does: C includes and tables, file length, TODOs, prints, names of causes.

The C rules repeat what Meson's per-folder include directories enforce, because DPDK's headers are
on every path and a header of one's own folder is always found: here they are a table to read.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Which folders of dataplane/ a folder may include from, besides itself; whether it may use DPDK.
MAY_INCLUDE: dict[str, tuple[set[str], bool]] = {
    "base": (set(), False),
    "record": ({"base"}, False),
    "capture": ({"base", "record"}, False),
    "fuzz": ({"capture", "trace"}, False),
    "traffic": ({"base"}, False),
    "clock": ({"base"}, False),
    "noise": ({"base", "record"}, False),
    "trace": ({"base", "record"}, False),
    "inject": ({"base", "record", "traffic", "noise"}, False),
    "nf": ({"base"}, True),
    "runtime": ({"base"}, True),
    "forwarder": ({"base", "record", "runtime", "nf"}, True),
    "generator": ({"base", "record", "runtime", "traffic"}, True),
}
# A struct that a header defines.
STRUCT = re.compile(r"^struct (?P<name>\w+) \{\n.*?^\}", re.MULTILINE | re.DOTALL)

# Families: no member includes another member's header, only the family's own.
FAMILIES = {"nf", "traffic"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)

# Where the members of a family stand, by the struct that each of them is.
TABLES = {
    "nf_ops": Path("dataplane/nf/nf_table.c"),
    "transmit_ops": Path("dataplane/forwarder/transmit_table.c"),
    "traffic_ops": Path("dataplane/traffic/traffic_table.c"),
    "port_kind": Path("dataplane/runtime/port_table.c"),
    "cause_ops": Path("dataplane/inject/cause_table.c"),
    "decoder_ops": Path("dataplane/capture/byte_source.c"),
    "capture_format": Path("dataplane/capture/capture.c"),
}
MEMBER = re.compile(r"^const struct (\w+) (\w+) = \{", re.MULTILINE)

# A name of a JSON member inside a C string: json_writer.h writes them.
JSON_NAME = re.compile(r'\\"[\w.]+\\":')

MAX_LINES = 500
LONG_BECAUSE = "Long because"  # in the first 20 lines: the reason a file is over the limit
TODO = re.compile(r"\b(?:TODO|FIXME|XXX)\b(?!\(?#\d+)")

# A console's print, but for an empty line; rich's own tables.
PRINTED = re.compile(r"(?:console|notes)\.print\((?!\))|^from rich\.table import", re.MULTILINE)

# Tables of causes by their rows and ids, and what holds a cause: `gap.cause`, `story["cause"]`.
CAUSE_TABLES = ("BY_ID", "NUMBER", "causes.BY_ID", "causes.NUMBER")
CAUSE = re.compile(rf"(?:^|\.)cause$|\['cause'\]$|^(?:{'|'.join(map(re.escape, CAUSE_TABLES))})$")


def main() -> int:
    """Print every finding as `file:line: rule`; exit 1 if there is any."""
    paths = [path for path in tracked_files() if path.is_file() and not path.is_symlink()]
    headers: dict[str, set[str]] = {}
    for path in paths:
        if is_c(path) and path.suffix == ".h":
            headers.setdefault(path.name, set()).add(path.parts[1])
    findings: list[str] = []
    for path in paths:
        text = path.read_text(errors="replace")
        findings += length(path, text)
        findings += todos(path, text)
        findings += printed(path, text)
        findings += spelled_causes(path, text)
        if is_c(path):
            findings += includes(path, text, headers)
            findings += unlisted(path, text)
            findings += json_by_hand(path, text)
    findings += open_structs({path: path.read_text() for path in paths if is_c(path)})
    print("\n".join(findings))
    return 1 if findings else 0


def tracked_files() -> Iterator[Path]:
    """Name the files of the project, new ones included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return (Path(name) for name in names.split("\0") if name)


def is_c(path: Path) -> bool:
    """Say whether a file is C of the data plane."""
    return path.parts[0] == "dataplane" and path.suffix in {".c", ".h"}


def length(path: Path, text: str) -> Iterator[str]:
    """A source file over 500 lines is split or says why it is not."""
    n_lines = text.count("\n")
    if path.suffix in {".c", ".h", ".py"} and n_lines > MAX_LINES:
        head = "\n".join(text.splitlines()[:20])
        if LONG_BECAUSE not in head:
            yield f"{path}:1: {n_lines} lines; split it, or say '{LONG_BECAUSE} ...' at the top"


def todos(path: Path, text: str) -> Iterator[str]:
    """A TODO names its issue: TODO(#12)."""
    if path.suffix not in {".c", ".h", ".py", ".toml", ".sh"} or path.name == Path(__file__).name:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if TODO.search(line):
            yield f"{path}:{number}: TODO without an issue number"


def printed(path: Path, text: str) -> Iterator[str]:
    """Rich breaks words and numbers from their units; taut.report.paragraph does not."""
    if path.parts[:2] != ("python", "taut") or path.name == "paragraph.py":
        return
    for match in PRINTED.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        yield f"{path}:{number}: printed past taut.report.paragraph"


def spelled_causes(path: Path, text: str) -> Iterator[str]:
    """A cause is named by its row, `causes.TIMER`: a type checker finds one that has none."""
    if path.parts[:2] != ("python", "taut") or path.suffix != ".py":
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in CAUSE_TABLES:
            sides = [node.value, node.slice]
        else:
            continue
        if any(CAUSE.search(ast.unparse(side)) for side in sides) and any(map(is_word, sides)):
            yield f"{path}:{node.lineno}: a cause as a string; name its row of explain/causes.py"


def is_word(node: ast.expr) -> bool:
    """Say whether an expression is a string with something in it, or several."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(is_word, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""


def includes(path: Path, text: str, headers: dict[str, set[str]]) -> Iterator[str]:
    """Hold one C file to the table above."""
    folder = path.parts[1]
    if folder not in MAY_INCLUDE:
        yield f"{path}:1: {folder}/ is not in the table of {Path(__file__).name}"
        return
    allowed, dpdk = MAY_INCLUDE[folder]
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        if ".." in name:
            yield f"{where}: {name}: no ../ in includes"
        elif quote == "<" and name.startswith("rte_") and not dpdk:
            yield f"{where}: {name}: {folder}/ builds without DPDK"
        elif quote == '"' and (owners := headers.get(Path(name).name)):
            if not owners & {folder, *allowed}:
                yield f"{where}: {name}: {folder}/ may not include from {min(owners)}/"
            elif folder in owners and folder in FAMILIES and is_other_member(path, name):
                yield f"{where}: {name}: members of {folder}/ do not know each other"


def unlisted(path: Path, text: str) -> Iterator[str]:
    """A member of a family stands in its table: compiled without, it would be nowhere."""
    for match in MEMBER.finditer(text):
        struct, name = match.groups()
        table = TABLES.get(struct)
        if table is None or path.stem.endswith("_test"):
            continue
        if not re.search(rf"&{name}\b", table.read_text()):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {name} is not in {table}"


def open_structs(sources: dict[Path, str]) -> Iterator[str]:
    """A struct that one .c alone looks into is defined there: its header says `struct NAME;`."""
    for path, text in sources.items():
        if path.suffix != ".h" or "static inline" in text:
            continue
        own = {path, path.with_suffix(".c"), path.with_name(f"{path.stem}_test.c")}
        for match in STRUCT.finditer(text):
            name = rf"\bstruct {match['name']}\b"
            # Held by value in a struct of the header, or handed out by one of its functions.
            is_needed = re.search(rf"{name}(?! \*| \{{|;)|^(const )?{name} \*\w+\(", text, re.M)
            others = (other for where, other in sources.items() if where not in own)
            if not is_needed and not any(re.search(name, other) for other in others):
                number = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{number}: struct {match['name']}: define it in {path.stem}.c"


def json_by_hand(path: Path, text: str) -> Iterator[str]:
    """JSON is written by json_writer.h, which knows where commas go; tests may say what it was."""
    if path.stem.endswith("_test"):
        return
    for match in JSON_NAME.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        yield f"{path}:{number}: JSON printed by hand; see base/json_writer.h"


def is_other_member(path: Path, name: str) -> bool:
    """Say whether a header belongs to another member of the family: one with a table of ops."""
    implementation = path.parent / Path(name).with_suffix(".c")
    if implementation.stem == path.stem.removesuffix("_test") or not implementation.exists():
        return False
    ops = rf"^const struct {path.parts[1]}_ops \w+ = \{{"
    return re.search(ops, implementation.read_text(), re.MULTILINE) is not None


if __name__ == "__main__":
    sys.exit(main())
