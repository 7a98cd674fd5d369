"""What the tests of the firewall's verdicts share."""

from collections.abc import Iterator

import pytest

from firewall_alone import Firewall


@pytest.fixture(scope="module")
def firewall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firewall]:
    found = Firewall(tmp_path_factory.mktemp("rules"))
    yield found
    found.close()
