"""Energy in words: what it is of, or why nobody knows."""

from dataclasses import replace

import pytest

from made_documents import made_result
from taut.records.documents.generator import Energy, EnergyDomain, GeneratorResult
from taut.records.documents.json_form import parse
from taut.records.documents.manifest import Manifest
from taut.report.conditions import conditions_of
from taut.report.energy import energy_words

NO_POWERCAP = "no powercap domain (intel-rapl) on this machine"
TOO_LONG = "trials so long that the counter may have come round more than once"


def domain(name: str, energy_uj: int | None) -> EnergyDomain:
    return EnergyDomain("intel-rapl:0", name, energy_uj)


def trial(energy: Energy | None):
    return replace(made_result(), energy=energy)


def test_power_is_that_of_all_packages_and_of_nothing_beside_them():
    domains = tuple(
        domain(name, uj)
        for name, uj in [("package-0", 40_000_000), ("core", 7), ("dram", 9), ("package-1", 2)]
    )

    assert Energy(2 * 10**9, None, domains).packages_w == pytest.approx(20.000001)


@pytest.mark.parametrize(
    ("energy", "why"),
    [
        (Energy(10**9, NO_POWERCAP), NO_POWERCAP),
        (Energy(10**9, None, (domain("package-0", None), domain("dram", 7))), TOO_LONG),
        (Energy(10**9, None, (domain("psys", 7),)), "no package among the domains"),
    ],
)
def test_what_is_not_known_has_its_reason(energy, why):
    assert energy.packages_w is None
    assert energy_words([trial(energy)] * 2) == f"not readable here: {why}"


def test_a_run_s_conditions_say_whose_energy_it_is_or_why_it_is_not_there():
    known = trial(Energy(10**9, None, (domain("package-0", 10**7),)))

    (said,) = (words for name, words in conditions_of(Manifest(), [known]) if name == "energy")
    assert said == "of whole packages: generator, device and whatever else ran"
    assert "energy" not in dict(conditions_of(Manifest(), [trial(None)]))


def test_the_generator_s_own_words_are_read():
    document = {
        "energy": {
            "elapsed_ns": 1000,
            "why_not": None,
            "domains": [{"zone": "intel-rapl:0", "name": "package-0", "energy_uj": 20}],
        }
    }

    energy = parse(GeneratorResult, document, "generator.json").energy

    assert energy is not None
    assert energy.packages_w == pytest.approx(20)
