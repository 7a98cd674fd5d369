"""Lint of a kernel command line: what the kernel ignores, refuses, or does unexpectedly.

Pure: a text and what is known of the kernel in, problems out. Works for any machine.
"""

from taut.host.kernel_parameters.advice import advice_problems
from taut.host.kernel_parameters.combinations import combination_problems
from taut.host.kernel_parameters.command_line import Parameter, parse_command_line
from taut.host.kernel_parameters.facts import KernelFacts, read_kernel_facts
from taut.host.kernel_parameters.isolation import core_lists, isolation_problems
from taut.host.kernel_parameters.problem import Gravity, Kind, Problem, worst_first
from taut.host.kernel_parameters.support import support_problems
from taut.host.kernel_parameters.values import split_flags, value_problems

__all__ = ["Gravity", "KernelFacts", "Kind", "Problem", "lint_command_line", "read_kernel_facts"]

# COMMAND_LINE_SIZE of x86 and ARM, the last byte of which ends the text; no kernel keeps more than
# the second number, so what follows is not judged.
_MAX_CHARACTERS = 2047
_MAX_JUDGED = 4096


def lint_command_line(text: str, facts: KernelFacts) -> list[Problem]:
    """Give what is wrong, the worst first. Never raises, whatever the text."""
    parameters = parse_command_line(text[:_MAX_JUDGED])
    is_running = bool(facts.running) and text.split() == facts.running.split()
    problems = []
    if len(text.strip()) > _MAX_CHARACTERS and not is_running:
        problems.append(_too_long(text))
    for parameter in parameters:
        problems += support_problems(parameter, facts, is_running)
        problems += value_problems(parameter, facts.n_cores)
        problems += advice_problems(parameter, facts.kernel)
        problems += _deprecated(parameter)
    problems += isolation_problems(core_lists(parameters, facts.n_cores), facts.n_cores)
    problems += combination_problems(parameters)
    return sorted(dict.fromkeys(problems), key=worst_first)


def _deprecated(parameter: Parameter) -> list[Problem]:
    """`isolcpus` for scheduling domains; `managed_irq` has no other way."""
    if parameter.name != "isolcpus":
        return []
    flags = split_flags(parameter).flags or ("domain",)
    if "domain" not in flags:
        return []
    message = (
        "isolating from scheduling by isolcpus is deprecated and cannot be taken back without a"
        " reboot"
    )
    remedy = "affinities of threads (taut host apply: R24), and isolcpus=managed_irq,LIST"
    return [Problem(Kind.DEPRECATED, parameter.text, Gravity.NOTE, message, remedy)]


def _too_long(text: str) -> Problem:
    return Problem(
        Kind.MALFORMED,
        f"{text.strip()[:30]} ...",
        Gravity.ERROR,
        f"{len(text.strip())} characters: kernels for x86 and ARM keep {_MAX_CHARACTERS} and drop"
        " the rest",
        "shorten it",
    )
