from dataclasses import replace

from boot_wishes import CONTEXT, LINE, WISHES
from taut.host.boot.bls import PATH, bls_files, options_line
from taut.host.boot.command_line import merge_parameters

ENTRY = "/boot/loader/entries/abc-6.1.conf"


def test_future_kernels_get_todays_command_line_without_the_loaders_words() -> None:
    assert bls_files(WISHES, CONTEXT) == {PATH: f"root=/dev/sda1 ro quiet {LINE}\n"}


def test_entries_keep_all_but_their_options() -> None:
    text = "title Linux\nversion 6.1\noptions $kernelopts root=/dev/sda1 isolcpus=1\ninitrd /i\n"

    files = bls_files(WISHES, replace(CONTEXT, entries={ENTRY: text}))

    assert files[ENTRY] == (
        f"title Linux\nversion 6.1\noptions $kernelopts root=/dev/sda1 {LINE}\ninitrd /i\n"
    )


def test_of_several_options_lines_the_last_gets_ours() -> None:
    files = bls_files(
        WISHES, replace(CONTEXT, entries={ENTRY: "options ro nohz_full=1\noptions quiet\n"})
    )

    assert files[ENTRY] == f"options ro\noptions quiet {LINE}\n"


def test_an_entry_without_options_gets_them() -> None:
    files = bls_files(WISHES, replace(CONTEXT, entries={ENTRY: "title Linux\n"}))

    assert files[ENTRY] == f"title Linux\noptions {LINE}\n"


def test_writing_twice_changes_nothing() -> None:
    parameters = merge_parameters(WISHES, CONTEXT.online)

    assert options_line(options_line("ro", parameters).removeprefix("options "), parameters) == (
        f"options ro {LINE}"
    )


def test_the_rescue_entry_boots_as_before() -> None:
    rescue = "/boot/loader/entries/abc-0-rescue.conf"
    entries = {ENTRY: "options ro\n", rescue: "options ro\n"}

    assert list(bls_files(WISHES, replace(CONTEXT, entries=entries))) == [PATH, ENTRY]


def test_without_parameters_there_is_no_file() -> None:
    assert bls_files([], replace(CONTEXT, entries={ENTRY: "options ro\n"})) == {}
