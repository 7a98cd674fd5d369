import subprocess
from pathlib import Path

from boot_wishes import CONTEXT, LINE, WISHES
from taut.host.boot.grub import PATH, grub_files
from taut.host.boot.item import KernelParameter
from taut.host.boot.wish import BootWish


def sourced(text: str, tmp_path: Path, linux: str, default: str) -> tuple[str, str]:
    """What the shell of grub-mkconfig has after reading the drop-in; a file * would match."""
    (tmp_path / "starred").touch()
    (tmp_path / "drop-in").write_text(text)
    script = (
        f"GRUB_CMDLINE_LINUX='{linux}'; GRUB_CMDLINE_LINUX_DEFAULT='{default}'; . ./drop-in\n"
        'printf "%s\\n%s\\n" "$GRUB_CMDLINE_LINUX" "$GRUB_CMDLINE_LINUX_DEFAULT"; echo *ed'
    )
    ended = subprocess.run(
        ["sh", "-eu", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = ended.stdout.splitlines()
    assert lines[2:] == ["starred"]  # the shell expands names again afterwards
    return lines[0], lines[1]


def test_the_shell_adds_the_parameters_to_the_normal_entries(tmp_path: Path) -> None:
    (text,) = grub_files(WISHES, CONTEXT).values()

    assert sourced(text, tmp_path, "net.ifnames=0", "quiet") == ("net.ifnames=0", f"{LINE} quiet")


def test_parameters_that_stand_there_already_are_replaced(tmp_path: Path) -> None:
    (text,) = grub_files(WISHES, CONTEXT).values()

    linux, default = sourced(
        text, tmp_path, "isolcpus=1 ro", "nohz-full=0-1 st* rcu_nocb_poll nohz_fuller=1"
    )

    assert linux == "ro"
    assert default == f"{LINE} st* nohz_fuller=1"


def test_values_are_quoted_for_the_shell(tmp_path: Path) -> None:
    wish = BootWish(KernelParameter("dyndbg", '"file $x +p"'), "why")

    (text,) = grub_files([wish], CONTEXT).values()

    assert sourced(text, tmp_path, "", "")[1].strip() == 'dyndbg="file $x +p"'


def test_every_reason_is_a_comment_on_one_line() -> None:
    text = grub_files(WISHES, CONTEXT)[PATH]

    assert "# nohz_full=2-3: ticks (two lines)\n" in text
    assert '# isolcpus=domain,managed_irq,2-3: queues: "$x" 100%\n' in text


def test_without_parameters_there_is_no_file() -> None:
    assert grub_files([wish for wish in WISHES if wish.reason == "merging"], CONTEXT) == {}
