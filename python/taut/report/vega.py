"""Vega, which draws what chart.py specifies: into files here, and in a browser by its script.

The only file that imports the library it comes in. The script is the same for every report and
takes seconds to make: set-up has it made (`python -m taut.report.chart`) and kept beside the
packages it is made of.
"""

import json
import sys
from collections.abc import Mapping
from functools import partial
from importlib import metadata
from pathlib import Path

from taut.core.files import whole, write_whole
from taut.core.workers import spread
from taut.records.documents.json_form import JsonObject
from taut.report.palette import LIGHT, resolve

_IMAGE_WIDTH = 860
_PNG_SCALE = 2.0
_KEPT = Path(sys.prefix) / "share/taut/vega.js"


def draw_images(specs: Mapping[str, JsonObject], folder: Path, version: str) -> None:
    """Write NAME.svg and NAME.png of every specification in the light theme, one a core at once.

    `version` is that of Vega-Lite, as `6.1`.
    """
    folder.mkdir(exist_ok=True)
    for _ in spread(partial(_draw, folder, version), list(specs.items())):
        pass


def _draw(folder: Path, version: str, named: tuple[str, JsonObject]) -> None:
    import vl_convert

    name, spec = named
    still = resolve({**spec, "width": _IMAGE_WIDTH, "autosize": "pad", "padding": 12}, LIGHT)
    svg = vl_convert.vegalite_to_svg(json.dumps(still), vl_version=version)
    with whole(folder / f"{name}.svg") as temporary:
        temporary.write_text(svg, encoding="utf-8")
    with whole(folder / f"{name}.png") as temporary:
        temporary.write_bytes(vl_convert.svg_to_png(svg, scale=_PNG_SCALE))


def script_of(version: str, path: Path = _KEPT) -> str:
    """Give Vega, Vega-Lite and Vega-Embed as one script: the one that is kept, or a new one."""
    try:
        first, _, kept = path.read_text(encoding="utf-8").partition("\n")
    except OSError:
        return _make_script(version)
    return kept if first == _mark(version) else _make_script(version)


def keep_script(version: str, path: Path = _KEPT) -> None:
    """Make the script and keep it for all reports to come."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{_mark(version)}\n{_make_script(version)}")


def _make_script(version: str) -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    return bundle


def _mark(version: str) -> str:
    """Say what a script was made of."""
    return f"// Vega-Lite {version} of vl-convert {metadata.version('vl-convert-python')}"
