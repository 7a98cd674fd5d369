import pytest

from boot_wishes import CONTEXT, WISHES
from taut.core.errors import InputError
from taut.host.boot.artefacts import FORMS, artefacts
from taut.host.boot.item import KernelParameter, Sysctl
from taut.host.boot.wish import BootWish


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_texts_for_absolute_paths_and_the_same_each_time(form: str) -> None:
    files = artefacts(form, WISHES, CONTEXT)

    assert files
    assert all(path.startswith("/etc/") and text.endswith("\n") for path, text in files.items())
    assert artefacts(form, WISHES, CONTEXT) == files


@pytest.mark.parametrize("form", ["systemd", "tuned"])
def test_two_values_of_one_setting_are_a_conflict_that_names_both(form: str) -> None:
    wishes = [
        BootWish(Sysctl("vm.swappiness", "10"), "why", "R15-boot"),
        BootWish(Sysctl("vm.swappiness", "0"), "why", "X01-boot"),
    ]

    with pytest.raises(InputError, match=r"vm.swappiness: 10 \(R15-boot\) and 0 \(X01-boot\)"):
        artefacts(form, wishes, CONTEXT)


@pytest.mark.parametrize("form", ["grub", "bls", "tuned"])
def test_no_form_takes_every_core(form: str) -> None:
    wishes = [BootWish(KernelParameter("isolcpus", cores=(0, 1, 2, 3)), "why")]

    with pytest.raises(InputError, match="housekeeping"):
        artefacts(form, wishes, CONTEXT)


def test_an_unknown_form_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="'lilo'; there are grub, bls, tuned, systemd, guest"):
        artefacts("lilo", WISHES, CONTEXT)
