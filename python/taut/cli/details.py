"""`--details`: what is behind a fold in the report is printed as well."""

from typing import Annotated

import typer

DetailsOption = Annotated[
    bool, typer.Option("--details", help="Also print what the report has behind its folds.")
]
