"""Check what no tool does: C includes and tables, file length, TODOs, prints, causes, documents.

A rule is a function of the tree, a mapping of paths to texts, that yields `file:line: what is
wrong`; RULES names them all. tests/devtools/test_check_files.py plants each thing they can say.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

Sources: TypeAlias = Mapping[Path, str]
Rule: TypeAlias = Callable[[Sources], Iterator[str]]

# Which folders of dataplane/ a folder may include from, besides itself; whether it may use DPDK.
# Meson's include directories enforce the same, but DPDK's headers are on every path there, and a
# header of one's own folder is always found.
MAY_INCLUDE: dict[str, tuple[set[str], bool]] = {
    "base": (set(), False),
    "record": ({"base"}, False),
    "capture": ({"base", "record"}, False),
    "count": ({"base", "record"}, False),
    "fuzz": ({"capture", "count", "trace", "base", "routing", "rules", "nf"}, True),
    "traffic": ({"base"}, False),
    "clock": ({"base"}, False),
    "noise": ({"base", "record"}, False),
    "trace": ({"base", "record"}, False),
    "inject": ({"base", "record", "traffic", "noise"}, False),
    "routing": ({"base"}, False),
    "rules": ({"base"}, False),
    "nf": ({"base", "routing", "rules"}, True),
    "runtime": ({"base"}, True),
    "forwarder": ({"base", "record", "runtime", "nf"}, True),
    "generator": ({"base", "record", "runtime", "traffic"}, True),
}
INCLUDE = re.compile(r'^[ \t]*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)

# Families: no member includes another member's header, only the family's own.
FAMILIES = {"nf", "traffic"}

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

# A struct that a header defines.
STRUCT = re.compile(r"^struct (?P<name>\w+) \{\n.*?^\}", re.MULTILINE | re.DOTALL)

# A name of a JSON member inside a C string: json_writer.h writes them.
JSON_NAME = re.compile(r'\\"[\w.]+\\":')

MAX_LINES = 400
TODO = re.compile(r"\b(?:TODO|FIXME|XXX)\b(?!\(?#\d+)")

# What names whoever's package index made a lock file (docs/adr).
ADDRESS = re.compile(r"[a-z]+://|--(?:extra-)?index|--find-links")

# A console's print, but for an empty line; rich's own tables.
PRINTED = re.compile(r"(?:console|notes)\.print\((?!\))|^from rich\.table import", re.MULTILINE)

# Tables of causes by their rows and ids, and what holds a cause: `gap.cause`, `story["cause"]`.
CAUSE_TABLES = ("BY_ID", "NUMBER", "causes.BY_ID", "causes.NUMBER")
CAUSE = re.compile(rf"(?:^|\.)cause$|\['cause'\]$|^(?:{'|'.join(map(re.escape, CAUSE_TABLES))})$")

# What reads and writes JSON, and what makes a document of it, or it of a document.
READS, WRITES = ("json.load", "json.loads"), ("json.dump", "json.dumps", "write_json")
PARSES, PLAINS = "parse", ("plain", "plain_object")
# Files of python/taut whose JSON has no type in records/documents, and why.
WITHOUT_TYPE = {
    "python/taut/records/documents/json_form.py": "the edge: its callers parse what it reads",
    "python/taut/core/files.py": "write_json itself: its callers are looked at",
    "python/taut/report/vega.py": "a chart of Vega-Lite, which has a schema of its own",
    "python/taut/report/page.py": "the same charts, inside the page",
    "python/taut/testing/figures.py": "the same charts, as long as they are in the page",
    "python/taut/host/journal_lines.py": "a sum over the keys stands among them",
    "python/taut/analysis/results.py": "summary.json is an Analysis without its trials",
    "python/taut/experiment/toml_text.py": "text of TOML, whose escapes are those of JSON",
    "python/taut/testbed/oci_bundle.py": "config.json of a container, which OCI specifies",
    "python/taut/self_test/measurer.py": "the three keys of trial.json that explain asks for",
}


# A docstring of so few words, or a string below a field, repeats the name it stands under.
PADDING_WORDS = 3


def main() -> int:
    """Print every finding as `file:line: rule`; exit 1 if there is any."""
    paths = [path for path in tracked_files() if path.is_file() and not path.is_symlink()]
    sources = {path: path.read_text(errors="replace") for path in paths}
    findings = [finding for rule in RULES for finding in rule(sources)]
    print("\n".join(findings))
    return 1 if findings else 0


def tracked_files() -> Iterator[Path]:
    """Name the files of the project, new ones included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return (Path(name) for name in names.split("\0") if name)


def c_files(sources: Sources) -> Iterator[tuple[Path, str]]:
    """Give the C of the data plane."""
    for path, text in sources.items():
        if path.parts[0] == "dataplane" and path.suffix in {".c", ".h"}:
            yield path, text


def package_files(sources: Sources) -> Iterator[tuple[Path, str]]:
    """Give the modules of the package."""
    for path, text in sources.items():
        if path.parts[:2] == ("python", "taut") and path.suffix == ".py":
            yield path, text


def at(path: Path, text: str, offset: int) -> str:
    """Say where in a text something stands."""
    return f"{path}:{text.count(chr(10), 0, offset) + 1}"


def lengths(sources: Sources) -> Iterator[str]:
    """Nobody reads a longer file from top to bottom."""
    for path, text in sources.items():
        n_lines = text.count("\n")
        if path.suffix in {".c", ".h", ".py"} and n_lines > MAX_LINES:
            yield f"{path}:1: {n_lines} lines; split it, {MAX_LINES} are allowed"


def todos(sources: Sources) -> Iterator[str]:
    """A TODO names its issue: TODO(#12)."""
    for path, text in sources.items():
        if path.suffix in {".c", ".h", ".py", ".toml", ".sh"} and path.name != Path(__file__).name:
            for match in TODO.finditer(text):
                yield f"{at(path, text, match.start())}: TODO without an issue number"


def addresses(sources: Sources) -> Iterator[str]:
    """A lock file names packages and their hashes, not where they were fetched."""
    for path, text in sources.items():
        if path.name.endswith((".lock", ".lock.txt")):
            for match in ADDRESS.finditer(text):
                yield f"{at(path, text, match.start())}: an address stands in the lock file"


def printed(sources: Sources) -> Iterator[str]:
    """Rich breaks words and numbers from their units; taut.report.paragraph does not."""
    for path, text in package_files(sources):
        if path.name != "paragraph.py":
            for match in PRINTED.finditer(text):
                yield f"{at(path, text, match.start())}: printed past taut.report.paragraph"


parsed = cache(ast.parse)


def spelled_causes(sources: Sources) -> Iterator[str]:
    """A cause is named by its row, `causes.TIMER`: a type checker finds one that has none."""
    for path, text in package_files(sources):
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in CAUSE_TABLES:
                sides = [node.value, node.slice]
            else:
                continue
            if any(CAUSE.search(ast.unparse(side)) for side in sides) and any(map(is_word, sides)):
                yield f"{path}:{node.lineno}: a cause as a string; name its row: causes.ID"


def is_word(node: ast.expr) -> bool:
    """Say whether an expression is a string with something in it, or several."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(is_word, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""


def documents(sources: Sources) -> Iterator[str]:
    """JSON is read by `parse` into a document, and written by `plain` of one."""
    for path, text in package_files(sources):
        lines = list(untyped(parsed(text)))
        if str(path) not in WITHOUT_TYPE:
            for number in lines:
                yield f"{path}:{number}: JSON without a type of records/documents (parse, plain)"
        elif not lines:
            yield f"{path}:1: its JSON has a type now; take it out of {Path(__file__).name}"


def untyped(module: ast.Module) -> Iterator[int]:
    """Give the lines where JSON is read or written and no document is named there and then."""
    calls = [(node, called(node)) for node in ast.walk(module) if isinstance(node, ast.Call)]
    into_documents = {id(part) for call, name in calls if name == PARSES for part in call.args}
    for call, name in calls:
        parts = (part for given in call.args for part in ast.walk(given))
        is_plain = any(called(part).split(".")[-1] in PLAINS for part in parts)
        if (name in READS and id(call) not in into_documents) or (name in WRITES and not is_plain):
            yield call.lineno
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module == "json":
            yield node.lineno


def called(node: ast.AST) -> str:
    """Give the name of the function that a call calls; empty: it is no call."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def includes(sources: Sources) -> Iterator[str]:
    """Hold each C file to MAY_INCLUDE."""
    headers: dict[str, set[str]] = {}
    for path, _ in c_files(sources):
        if path.suffix == ".h":
            headers.setdefault(path.name, set()).add(path.parts[1])
    for path, text in c_files(sources):
        folder = path.parts[1]
        if folder not in MAY_INCLUDE:
            yield f"{path}:1: {folder}/ is not in the table of {Path(__file__).name}"
            continue
        allowed, dpdk = MAY_INCLUDE[folder]
        for match in INCLUDE.finditer(text):
            quote, name = match.groups()
            where = f"{at(path, text, match.start())}: {name}"
            if ".." in name:
                yield f"{where}: no ../ in includes"
            elif quote == "<" and name.startswith("rte_") and not dpdk:
                yield f"{where}: {folder}/ builds without DPDK"
            elif quote == '"' and (owners := headers.get(Path(name).name)):
                if not owners & {folder, *allowed}:
                    yield f"{where}: {folder}/ may not include from {min(owners)}/"
                elif folder in owners & FAMILIES and is_other_member(sources, path, name):
                    yield f"{where}: members of {folder}/ do not know each other"


def is_other_member(sources: Sources, path: Path, name: str) -> bool:
    """Say whether a header belongs to another member of the family: one with a table of ops."""
    implementation = path.parent / Path(name).with_suffix(".c")
    if implementation.stem == path.stem.removesuffix("_test"):
        return False
    ops = rf"^const struct {path.parts[1]}_ops \w+ = \{{"
    return re.search(ops, sources.get(implementation, ""), re.MULTILINE) is not None


def unlisted(sources: Sources) -> Iterator[str]:
    """A member of a family stands in its table: compiled without, it would be nowhere."""
    for path, text in c_files(sources):
        for match in MEMBER.finditer(text):
            struct, name = match.groups()
            table = TABLES.get(struct)
            if table is None or path.stem.endswith("_test"):
                continue
            if not re.search(rf"&{name}\b", sources.get(table, "")):
                yield f"{at(path, text, match.start())}: {name} is not in {table}"


def uncompiled(sources: Sources) -> Iterator[str]:
    """What no meson.build names is compiled by nobody, and a test of that kind never fails."""
    for path, _ in c_files(sources):
        name = path.stem.removesuffix("_test")
        listed = [f"'{name}'"] if name != path.stem else [f"'{path.name}'", f"'{name}'"]
        recipe = path.with_name("meson.build")
        if path.suffix == ".c" and not any(word in sources.get(recipe, "") for word in listed):
            yield f"{path}:1: {recipe} does not name it"


def open_structs(sources: Sources) -> Iterator[str]:
    """A struct that one .c alone looks into is defined there: its header says `struct NAME;`."""
    c = dict(c_files(sources))
    for path, text in c.items():
        if path.suffix != ".h" or "static inline" in text:
            continue
        own = {path, path.with_suffix(".c"), path.with_name(f"{path.stem}_test.c")}
        for match in STRUCT.finditer(text):
            name = rf"\bstruct {match['name']}\b"
            # Held by value in a struct of the header, or handed out by one of its functions.
            is_needed = re.search(rf"{name}(?! \*| \{{|;)|^(const )?{name} \*\w+\(", text, re.M)
            others = (other for where, other in c.items() if where not in own)
            if not is_needed and not any(re.search(name, other) for other in others):
                where = at(path, text, match.start())
                yield f"{where}: struct {match['name']}: define it in {path.stem}.c"


def json_by_hand(sources: Sources) -> Iterator[str]:
    """JSON is written by json_writer.h, which knows where commas go; tests may say what it was."""
    for path, text in c_files(sources):
        if not path.stem.endswith("_test"):
            for match in JSON_NAME.finditer(text):
                where = at(path, text, match.start())
                yield f"{where}: JSON printed by hand; see base/json_writer.h"


def padding(sources: Sources) -> Iterator[str]:
    """What documents a name says more than the name, or is left out."""
    for path, text in sources.items():
        if path.suffix != ".py":
            continue
        for node in ast.walk(parsed(text)):
            match node:
                case ast.Expr(ast.Constant(str(words))) if len(words.split()) <= PADDING_WORDS:
                    yield f"{path}:{node.lineno}: {words!r}: says no more than its name; leave out"


RULES: tuple[Rule, ...] = (
    padding,
    lengths,
    todos,
    addresses,
    printed,
    spelled_causes,
    documents,
    includes,
    unlisted,
    uncompiled,
    open_structs,
    json_by_hand,
)

if __name__ == "__main__":
    sys.exit(main())
