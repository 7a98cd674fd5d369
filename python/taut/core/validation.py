"""One clear line from pydantic's report: where, what is wrong, what was given."""

from pydantic import ValidationError

from taut.core.errors import InputError

_UNKNOWN = "extra_forbidden"


def explain(error: ValidationError, owner: str) -> InputError:
    """Make an InputError of the first problem; `owner` names the file or table."""
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == _UNKNOWN:
        return InputError(f"{owner}: unknown key {where!r}; check its spelling")
    if problem["type"] == "missing":
        return InputError(f"{owner}: key {where!r} is missing; add it")
    what = problem["msg"].removeprefix("Value error, ")
    what = what[:1].lower() + what[1:]
    given = f" (given {problem['input']!r})" if problem["type"] != "value_error" else ""
    return InputError(f"{owner}: {where}: {what}{given}" if where else f"{owner}: {what}{given}")
