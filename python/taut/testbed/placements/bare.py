"""bare: on the host itself; the null member of the family."""

from contextlib import AbstractContextManager, nullcontext

from taut.records.documents.trial import BARE
from taut.testbed.placement import PlacementOptions, Tenant
from taut.testbed.scope import RunScope


class BareOptions(PlacementOptions):
    """Bare has no options."""


class BarePlacement:
    """Takes every device, and makes nothing."""

    name = BARE
    summary = "on the host itself"
    options_type: type[PlacementOptions] = BareOptions
    enter_ns = 0

    def refuses(
        self,
        driver: str,  # noqa: ARG002 - an interface
        link: str,
        options: PlacementOptions,  # noqa: ARG002
    ) -> str | None:
        """A guest's card is in a guest alone."""
        return f'link {link} is for placement vm; say link = "virtio"' if link == "vhost" else None

    def missing(self, options: PlacementOptions) -> str | None:  # noqa: ARG002 - an interface
        return None

    def version(self, options: PlacementOptions) -> str | None:  # noqa: ARG002 - an interface
        return None

    def entered(
        self,
        options: PlacementOptions,  # noqa: ARG002 - an interface
        tenant: Tenant,  # noqa: ARG002
        scope: RunScope,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        return nullcontext()
