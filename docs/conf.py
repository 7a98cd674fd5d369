"""How Sphinx builds the site of these pages: `make html` (devtools/documents.py) calls it."""

import json
from pathlib import Path

from taut.core.version import taut_version

project = "taut"
author = "taut authors"
release = version = taut_version()
language = "en"

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
root_doc = "index"
# README.md is what a forge shows of this folder; index.md is its like on the site.
exclude_patterns = ["README.md", "overview.svg"]

myst_heading_anchors = 4  # pages link to headings, as a forge makes their anchors
myst_links_external_new_tab = False

smartquotes = False  # of `--port` in a sentence they would make a dash

html_theme = "furo"
html_title = f"taut {release}"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
# A summary of each hit would be fetched, which no browser allows a page of a folder.
html_show_search_summary = False
# Everything a page needs lies beside it: the site opens from a folder, without a network.
html_static_path: list[str] = []

_MANUAL = Path(__file__).with_name("commands") / "manual.json"
man_pages = [
    (f"commands/{name}", name, says, [author], 1)
    for name, says in json.loads(_MANUAL.read_text()).items()
]
