"""`--images`: figures are files, too."""

from typing import Annotated

import typer

ImagesOption = Annotated[
    bool,
    typer.Option("--images", help="Also write every figure as SVG and PNG: figures/, beside it."),
]
