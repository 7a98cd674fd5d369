"""devtools/check_files.py: every rule names what is planted against it, and lets the rest pass."""

import ast
import inspect
from pathlib import Path

import pytest

from check_files import MEMBER, RULES, TABLES, Rule, Sources

NF = "const struct nf_ops nf_%s = {\n"
NF_TABLE = {"dataplane/nf/nf_table.c": "\t&nf_delay,\n\t&nf_ttl,\n"}
HEAP = "struct heap {\n\tint n;\n};\n"
HEAP_C = {"dataplane/trace/heap.c": "static struct heap heap;\n"}
READ = "document = parse(Manifest, json.loads(text), path)\n"
TASK = "TO" + "DO"

# For each rule what breaks it, a tree each, and what the rule then says.
PLANTED: dict[str, list[tuple[dict[str, str], str]]] = {
    "lengths": [({"bench/a.py": "\n" * 401}, "bench/a.py:1: 401 lines; split it")],
    "todos": [({"bench/a.py": f"\n# {TASK}: later"}, f"bench/a.py:2: {TASK} without an issue")],
    "addresses": [
        ({"requirements.lock": "a==1\n--index-url x\n"}, "requirements.lock:2: an address"),
        ({"devtools/uv.lock.txt": "uv @ ftp://x/uv\n"}, "devtools/uv.lock.txt:1: an address"),
    ],
    "printed": [
        ({"python/taut/cli/x.py": "console.print(words)"}, "x.py:1: printed past"),
        ({"python/taut/cli/x.py": "\nfrom rich.table import Table"}, "x.py:2: printed past"),
    ],
    "spelled_causes": [
        ({"python/taut/x.py": 'if story.cause == "timer": pass'}, "x.py:1: a cause as a string"),
        ({"python/taut/x.py": 'if cause in ("no-such", "irq"): pass'}, "x.py:1: a cause as a"),
        ({"python/taut/x.py": 'if total["cause"] != "timer": pass'}, "x.py:1: a cause as a"),
        ({"python/taut/x.py": '\nNUMBER["timer"]'}, "x.py:2: a cause as a string"),
    ],
    "documents": [
        ({"python/taut/x.py": "\nfound = json.loads(text)"}, "x.py:2: JSON without a type"),
        ({"python/taut/x.py": 'json.dump({"n": 1}, out)'}, "x.py:1: JSON without a type"),
        ({"python/taut/x.py": 'write_json(path, {"n": 1})'}, "x.py:1: JSON without a type"),
        ({"python/taut/x.py": "from json import loads"}, "x.py:1: JSON without a type"),
        ({"python/taut/core/files.py": READ}, "files.py:1: its JSON has a type now"),
    ],
    "includes": [
        ({"dataplane/new/x.c": ""}, "x.c:1: new/ is not in the table"),
        ({"dataplane/nf/x.c": '#include "../base/clock.h"'}, "x.c:1: ../base/clock.h: no ../"),
        (
            {"dataplane/traffic/x.c": "\n#include <rte_mbuf.h>"},
            "x.c:2: rte_mbuf.h: traffic/",
        ),
        (
            {"dataplane/nf/x.c": '#include "port.h"', "dataplane/runtime/port.h": ""},
            "x.c:1: port.h: nf/ may not include from runtime/",
        ),
        (
            {
                "dataplane/nf/ttl.c": '#include "delay.h"',
                "dataplane/nf/delay.h": "",
                "dataplane/nf/delay.c": NF % "delay",
            },
            "ttl.c:1: delay.h: members of nf/ do not know each other",
        ),
    ],
    "unlisted": [
        (
            {**NF_TABLE, "dataplane/nf/del.c": "// ttl\n" + NF % "del"},
            "del.c:2: nf_del is not in dataplane/nf/nf_table.c",
        )
    ],
    "uncompiled": [
        (
            {"dataplane/nf/meson.build": "'ttl_x.c'", "dataplane/nf/ttl.c": ""},
            "ttl.c:1: dataplane/nf/meson.build does not name it",
        ),
        # Its source is named, the test is not.
        (
            {"dataplane/nf/meson.build": "'ttl.c'", "dataplane/nf/ttl_test.c": ""},
            "ttl_test.c:1: dataplane/nf/meson.build does not name it",
        ),
    ],
    "open_structs": [
        (
            {**HEAP_C, "dataplane/trace/heap.h": HEAP + "int heap_make(struct heap **out);\n"},
            "heap.h:1: struct heap: define it in heap.c",
        ),
        (
            {"dataplane/trace/heap.h": HEAP, "dataplane/trace/heap_test.c": "struct heap *tested;"},
            "heap.h:1: struct heap: define it in heap.c",
        ),
    ],
    "padding": [
        ({"tests/a.py": '"""Of a."""\n'}, "a.py:1: 'Of a.': says no more than its name"),
        ({"bench/a.py": 'class A:\n    n: int\n    """Its number."""\n'}, "bench/a.py:3: 'Its nu"),
    ],
    "json_by_hand": [
        (
            {"dataplane/nf/x.c": '\tfprintf(out,\n\t",\\"rx\\":%lu", n);'},
            "x.c:2: JSON printed by hand",
        )
    ],
}

CLEAN: list[dict[str, str]] = [
    {"bench/a.py": "\n" * 400, "docs/a.md": "\n" * 401},
    {"bench/a.py": '"""What a is for."""\nN = 3\n"""None: nobody has one."""'},
    {"bench/a.py": f"# {TASK}(#12): later", "docs/a.md": f"{TASK} https://x"},
    {"python/taut/cli/x.py": "console.print()", "tests/cli/x.py": "console.print(words)"},
    {"python/taut/x.py": 'if story.cause == causes.TIMER.id or story.cause == "": pass'},
    {"python/taut/x.py": 'if word == "timer": pass', "tests/x.py": 'assert cause == "timer"'},
    {"python/taut/x.py": f"{READ}json.dump(plain(document), out)", "bench/x.py": "json.loads(a)"},
    {"python/taut/x.py": 'write_json(path, {"format": 1, **plain_object(document)})'},
    {"dataplane/nf/ttl.c": "#include <rte_mbuf.h>", "dataplane/nf/ttl.h": ""},
    {"dataplane/nf/ttl.c": '#include "nf.h"', "dataplane/nf/nf.h": ""},
    {"dataplane/nf/ttl_test.c": '#include "ttl.h"', "dataplane/nf/ttl.h": ""},
    {"dataplane/forwarder/worker.c": '#include "port.h"', "dataplane/runtime/port.h": ""},
    {**NF_TABLE, "dataplane/nf/ttl.c": NF % "ttl", "dataplane/nf/x_test.c": NF % "own"},
    {"dataplane/trace/heap.h": HEAP, "dataplane/trace/tail.c": "int f(struct heap *heap);"},
    {"dataplane/trace/heap.h": HEAP + "struct tree {\n\tstruct heap heap;\n};\nstruct tree *f();"},
    {"dataplane/trace/heap.h": HEAP + "const struct heap *heap_of(int n);\n"},
    {"dataplane/trace/heap.h": HEAP + "static inline int heap_n(struct heap *h)\n{\n}\n"},
    {**HEAP_C, "dataplane/trace/heap.h": "struct heap;\n"},
    {"dataplane/nf/x_test.c": '"{\\"rx\\":1}"', "dataplane/nf/x.c": 'fail("\\"%s\\": long", key);'},
]


def tree(files: dict[str, str]) -> Sources:
    """A tree as the rules take it."""
    return {Path(path): text for path, text in files.items()}


def compiled(files: dict[str, str]) -> dict[str, str]:
    """A tree with what names its C files to the compiler."""
    c = [Path(path) for path in files if path.endswith(".c")]
    names = " ".join(f"'{path.name}' '{path.stem.removesuffix('_test')}'" for path in c)
    return files | {str(path.with_name("meson.build")): names for path in c}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_names_all_that_is_planted_against_it(rule: Rule) -> None:
    for files, complaint in PLANTED[rule.__name__]:
        found = list(rule(tree(files)))

        assert len(found) == 1, (complaint, found)
        assert complaint in found[0]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_all_that_a_rule_can_say_is_planted(rule: Rule) -> None:
    findings = [found for files, _ in PLANTED[rule.__name__] for found in rule(tree(files))]

    for node in ast.walk(ast.parse(inspect.getsource(rule))):
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.JoinedStr):
            words = [part.value for part in node.value.values if isinstance(part, ast.Constant)]
            assert any(all(word in found for word in words) for found in findings), words


@pytest.mark.parametrize("files", CLEAN, ids=lambda files: next(iter(files)))
def test_what_breaks_no_rule_is_named_by_none(files: dict[str, str]) -> None:
    assert [found for rule in RULES for found in rule(tree(compiled(files)))] == []


def test_each_table_has_at_least_two_members() -> None:
    root = Path(__file__).parents[2]
    for struct, table in TABLES.items():
        members = [
            name
            for path in (root / table).parent.glob("*.c")
            for of, name in MEMBER.findall(path.read_text())
            if of == struct
        ]
        assert len(members) >= 2, struct
