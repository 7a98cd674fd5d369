from pathlib import Path

from taut.report.chart import VEGALITE
from taut.report.vega import keep_script, script_of


def test_the_script_that_is_kept_is_given_until_it_is_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "share" / "vega.js"

    keep_script(VEGALITE, path)
    kept = path.read_text(encoding="utf-8")
    path.write_text(f"{kept}// kept", encoding="utf-8")
    given = script_of(VEGALITE, path)
    path.write_text(f"// of another version\n{kept}// kept", encoding="utf-8")
    made = script_of(VEGALITE, path)

    assert given == f"{made}// kept"
    assert "window.vegaEmbed" in made
