"""devtools/check_files.py: what it finds, and what it lets pass."""

from pathlib import Path

import pytest

from check_files import includes, length, printed, todos

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
