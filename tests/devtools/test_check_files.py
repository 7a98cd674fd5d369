"""devtools/check_files.py: what it finds, and what it lets pass."""

from pathlib import Path

import pytest

from check_files import (
    MEMBER,
    TABLES,
    includes,
    json_by_hand,
    length,
    open_structs,
    printed,
    spelled_causes,
    todos,
    unlisted,
)

HEADERS = {"clock.h": {"base"}, "port.h": {"runtime"}, "delay.h": {"nf"}, "nf.h": {"nf"}}


@pytest.mark.parametrize(
    ("path", "line", "complaint"),
    [
        ("dataplane/nf/ttl.c", '#include "port.h"', "nf/ may not include from runtime/"),
        ("dataplane/traffic/replay.c", "#include <rte_mbuf.h>", "traffic/ builds without DPDK"),
        ("dataplane/nf/ttl.c", '#include "../base/clock.h"', "no ../ in includes"),
        ("dataplane/new/x.c", "", "new/ is not in the table"),
    ],
)
def test_forbidden_include_is_found(path: str, line: str, complaint: str) -> None:
    findings = list(includes(Path(path), line, HEADERS))

    assert any(complaint in finding for finding in findings)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("dataplane/nf/ttl.c", '#include "nf.h"'),
        ("dataplane/nf/ttl.c", "#include <rte_mbuf.h>"),
        ("dataplane/forwarder/worker.c", '#include "port.h"'),
    ],
)
def test_allowed_include_passes(path: str, line: str) -> None:
    assert list(includes(Path(path), line, HEADERS)) == []


def test_member_of_a_family_may_not_include_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("dataplane/nf")
    folder.mkdir(parents=True)
    (folder / "delay.c").write_text("const struct nf_ops nf_delay = {};\n")

    findings = list(includes(folder / "ttl.c", '#include "delay.h"', HEADERS))

    assert len(findings) == 1
    assert "members of nf/ do not know each other" in findings[0]


@pytest.fixture
def nf_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of network functions that names delay alone."""
    monkeypatch.chdir(tmp_path)
    table = TABLES["nf_ops"]
    table.parent.mkdir(parents=True)
    table.write_text("const struct nf_ops *const nf_table[] = {\n\t&nf_delay,\n};\n")
    return table


def test_member_that_is_not_in_its_table_is_found(nf_table: Path) -> None:
    text = "// ttl\nconst struct nf_ops nf_del = {\n"

    assert list(unlisted(nf_table.with_name("del.c"), text)) == [
        "dataplane/nf/del.c:2: nf_del is not in dataplane/nf/nf_table.c"
    ]


def test_member_in_its_table_and_a_test_s_own_pass(nf_table: Path) -> None:
    listed, own = "const struct nf_ops nf_delay = {\n", "const struct nf_ops nf_own = {\n"

    assert list(unlisted(nf_table.with_name("delay.c"), listed)) == []
    assert list(unlisted(nf_table.with_name("nf_table_test.c"), own)) == []


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


def test_json_printed_by_hand_is_found() -> None:
    text = 'void f(FILE *out)\n{\n\tfprintf(out, ",\\"rx\\":%lu", n);\n}\n'

    assert list(json_by_hand(Path("dataplane/forwarder/stats.c"), text)) == [
        "dataplane/forwarder/stats.c:3: JSON printed by hand; see base/json_writer.h"
    ]
    assert list(json_by_hand(Path("dataplane/forwarder/stats_test.c"), text)) == []
    spoken = 'fail("key \\"%s\\": too long", key);\n'
    assert list(json_by_hand(Path("dataplane/capture/key.c"), spoken)) == []


def test_file_over_500_lines_needs_a_reason() -> None:
    body = "\n" * 501

    assert len(list(length(Path("a.py"), body))) == 1
    assert list(length(Path("a.py"), '"""Long because it is one table."""' + body)) == []


def test_todo_needs_an_issue_number() -> None:
    without, with_number = "# TO" + "DO: later", "# TO" + "DO(#12): later"

    assert len(list(todos(Path("a.py"), without))) == 1
    assert list(todos(Path("a.py"), with_number)) == []


@pytest.mark.parametrize(
    ("text", "n"),
    [("console.print(words)", 1), ("console.print()", 0), ("from rich.table import Table", 1)],
)
def test_what_is_printed_past_the_paragraphs_is_found(text: str, n: int) -> None:
    assert len(list(printed(Path("python/taut/cli/x.py"), text))) == n
    assert list(printed(Path("tests/cli/x.py"), text)) == []


HELD = "struct heap {\n\tint n;\n};\n"


@pytest.mark.parametrize(
    ("header", "other", "n"),
    [
        (HELD + "int heap_create(struct heap **out);\n", "", 1),
        (HELD + "int heap_create(struct heap **out);\n", "int f(struct heap *heap);\n", 0),
        (HELD + "struct tree {\n\tstruct heap heap;\n};\n", "static struct tree tree;\n", 0),
        (HELD + "const struct heap *heap_of(int n);\n", "", 0),
        (HELD + "static inline int heap_n(struct heap *h)\n{\n\treturn h->n;\n}\n", "", 0),
        ("struct heap;\n", "", 0),
    ],
)
def test_struct_that_only_its_own_file_uses_is_found(header: str, other: str, n: int) -> None:
    sources = {
        Path("dataplane/trace/heap.h"): header,
        Path("dataplane/trace/heap.c"): "static struct heap heap;\n",
        Path("dataplane/trace/heap_test.c"): "static struct heap *tested;\n",
        Path("dataplane/trace/tail.c"): other,
    }

    assert len(list(open_structs(sources))) == n


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ('if story.cause == "timer": pass', 1),
        ('if cause in ("timer", "softirq"): pass', 1),
        ('if total["cause"] != "timer": pass', 1),
        ('NUMBER["timer"]', 1),
        ("if story.cause == causes.TIMER.id: pass", 0),
        ('if story.cause == "": pass', 0),
        ('if word == "timer": pass', 0),
    ],
)
def test_a_cause_that_code_spells_out_is_found(text: str, n: int) -> None:
    assert len(list(spelled_causes(Path("python/taut/report/x.py"), text))) == n
    assert list(spelled_causes(Path("tests/report/test_x.py"), text)) == []
