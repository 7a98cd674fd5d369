"""Chromium without a window: what it shows of a report, at several widths, in light and in dark.

One start looks at all of them: a page with a frame for each width, whose light it turns off when
the frame has told what it shows. In every frame the report runs with shown.js added, which opens
what is folded and says what it finds.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

WIDTHS = (420, 800, 1280, 1600)
PROBLEMS = ("overlaps", "cut", "pale", "skipped", "nameless", "gone", "dead")
"""What shown.js looks for: lists of words, or how many."""

_PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-headless-shell"))), None)
_LOOK = Path(__file__).with_name("shown.js")
_FRAME = '<iframe src="{page}" width="{width}" height="900" style="color-scheme: light"></iframe>'
_COLLECT = """<pre id="seen"></pre><script>
const seen = [];
addEventListener("message", ({ data, source }) => {
	seen.push(data);
	for (const frame of document.querySelectorAll("iframe"))
		if (frame.contentWindow === source) frame.style.colorScheme = "dark";
	document.getElementById("seen").textContent = JSON.stringify(seen);
});
</script>"""

needs_browser = pytest.mark.skipif(_PROGRAM is None, reason="needs chromium")


def dom_of(page: Path, scratch: Path, query: str = "") -> str:
    """Give what became of a page, asked for with a query. Fails where the console has a message."""
    done = subprocess.run(
        [
            str(_PROGRAM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            f"--user-data-dir={scratch / 'profile'}",
            "--virtual-time-budget=60000",
            "--dump-dom",
            page.as_uri() + query,
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not messages, messages
    return done.stdout


def look(report: Path, scratch: Path, widths: Sequence[int] = WIDTHS) -> list[dict[str, Any]]:
    """Give what shown.js finds in a report at every width in both schemes.

    Fails where a frame says nothing, or the console has a message.
    """
    page = scratch / "looked-at.html"
    script = f"<script>{_LOOK.read_text(encoding='utf-8')}</script>"
    page.write_text(report.read_text(encoding="utf-8") + script, encoding="utf-8")
    frames = [_FRAME.format(page=page.name, width=width) for width in widths]
    (scratch / "frames.html").write_text("<!doctype html>" + _COLLECT + "".join(frames))
    dom = dom_of(scratch / "frames.html", scratch)
    said = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
    seen: list[dict[str, Any]] = json.loads(unescape(said[1])) if said and said[1] else []
    wanted = {(width, is_dark) for width in widths for is_dark in (False, True)}
    assert {(of["width"], of["dark"]) for of in seen} == wanted, dom[-2000:]
    return seen


def wrong_in(
    report: Path, scratch: Path, lines_least: int = 200, charts_least: int = 1
) -> list[str]:
    """Give what is wrong with a report, a line for each width and scheme; print what was seen.

    One with fewer lines of text or figures than it should have at least is not there.
    """
    lines = []
    for seen in look(report, scratch):
        where = f"{seen['width']} px, {'dark' if seen['dark'] else 'light'}"
        print(f"{where}: {seen['lines']} lines, {seen['charts']} figures, {seen['contrast']:.2f}:1")
        found = {name: seen[name] for name in PROBLEMS if seen[name]}
        lines += [f"{where}: {found}"] if found else []
        if seen["lines"] < lines_least or seen["charts"] < charts_least:
            lines.append(f"{where}: nearly nothing is there")
    return lines
