"""taut forward: run the forwarder from a TOML file, or with taut-forward's own arguments."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from taut.cli.exec_program import ANY_ARGUMENTS, arguments_after, exec_program
from taut.core.errors import InputError
from taut.dut.nf_object import seen_from
from taut.experiment.words import explain

# The command is made with these.
CONTEXT_SETTINGS = ANY_ARGUMENTS
PROGRAM = "taut-forward"


class ForwardConfig(BaseModel):
    """The keys of a forwarder's TOML file; each is an option of taut-forward."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ports: tuple[str, ...] = Field(min_length=1)
    nf: tuple[str, ...] = ()
    transmit: str | None = None
    burst: int | None = None
    core: int | None = None
    duration: str | None = None
    gaps: str | None = None
    gap_threshold: str | None = None
    hold: int | None = None
    stats: str | None = None
    eal: tuple[str, ...] = ()


def forward() -> None:
    """Forward packets between ports (runs taut-forward): CONFIG.toml, or its own arguments."""
    arguments = arguments_after("forward")
    if arguments and arguments[0].endswith(".toml"):
        if len(arguments) > 1:
            raise InputError(
                f"taut forward: {arguments[1]!r} after a file; write it into {arguments[0]}"
            )
        arguments = to_arguments(read_config(Path(arguments[0])))
    elif {"-h", "--help"} & set(arguments):
        print("taut forward CONFIG.toml takes most of this from a file.\n")
    exec_program(PROGRAM, arguments)


def read_config(path: Path) -> ForwardConfig:
    """Read and validate a forwarder's TOML file; shared objects that it names are beside it."""
    try:
        config = ForwardConfig.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a TOML file") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: no TOML: {error}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error, ForwardConfig)}") from None
    found = tuple(seen_from(path.parent, word) for word in config.nf)
    return config.model_copy(update={"nf": found})


def to_arguments(config: ForwardConfig) -> list[str]:
    """Give taut-forward's options and, after `--`, EAL's; what is unset is left out."""
    arguments = [part for port in config.ports for part in ("--port", port)]
    arguments += [part for nf in config.nf for part in ("--nf", nf)]
    values = config.model_dump(exclude={"ports", "nf", "eal"}, exclude_none=True)
    for name, value in values.items():
        arguments += [f"--{name.replace('_', '-')}", str(value)]
    return [*arguments, "--", *config.eal] if config.eal else arguments
