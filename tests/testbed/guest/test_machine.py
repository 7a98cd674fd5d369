"""What is said of a guest that did not come up."""

import pytest

from taut.testbed.guest.machine import telling


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [
                "[    2.21] Kernel panic - not syncing: VFS: Unable to mount root fs",
                "[    2.30] ---[ end Kernel panic - not syncing: VFS ]---",
            ],
            ': "Kernel panic - not syncing: VFS: Unable to mount root fs"',
        ),
        (["qemu-system-x86_64: no such machine"], ': "qemu-system-x86_64: no such machine"'),
        ([], ""),
    ],
)
def test_the_line_that_says_most_stands_in_the_reason(lines: list[str], said: str) -> None:
    assert telling(lines) == said
