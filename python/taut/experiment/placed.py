"""Placements as an axis of an experiment: [[placement]], and which device is measured where."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, ValidationError, ValidationInfo, model_validator

from taut.core.errors import InputError
from taut.core.words import did_you_mean
from taut.experiment.fields import Model, Name
from taut.experiment.words import explain
from taut.records.documents.trial import BARE, Placed
from taut.testbed.placement import PlacementKind, PlacementOptions
from taut.testbed.placements import PLACEMENTS

if TYPE_CHECKING:
    from taut.experiment.model import DeviceSpec


class PlacementSpec(Model):
    """A place where devices are measured."""

    name: Name
    kind: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    devices: tuple[str, ...] = ("*",)

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: object, info: ValidationInfo) -> object:
        if not isinstance(data, dict) or not isinstance(data.get("kind", data.get("name")), str):
            return data
        filled = {"kind": data.get("name"), "name": data.get("kind"), **data}
        kind = filled["kind"]
        if kind not in PLACEMENTS:
            known = did_you_mean(kind, PLACEMENTS.names())
            raise ValueError(f"unknown placement {kind!r}{known}")
        if isinstance(info.context, Path) and isinstance(options := data.get("options"), dict):
            filled["options"] = PLACEMENTS[kind].options_type.seen_from(info.context, options)
        return filled

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.name in PLACEMENTS and self.name != self.kind:
            raise ValueError(f"{self.name} is a kind of placement itself; choose another name")
        try:
            self.kind_options  # noqa: B018 - is checked
        except ValidationError as error:
            raise ValueError(f"options: {explain(error)}") from None
        return self

    @property
    def placement(self) -> PlacementKind:
        return PLACEMENTS[self.kind]

    @property
    def kind_options(self) -> PlacementOptions:
        """The options as the kind's own model."""
        return self.placement.options_type(**self.options)

    def takes(self, device: "DeviceSpec") -> bool:
        """Whether a device is measured here; the instrument alone is measured on the host."""
        if device.is_floor:
            return self.name == BARE
        if device.own_place is not None:
            return device.own_place == self.name
        return any(fnmatchcase(device.name, pattern) for pattern in self.devices)

    def refuses(self, device: "DeviceSpec") -> str | None:
        """Say why a device cannot be measured here; None: it can."""
        if device.is_floor:
            return None
        return device.driver_options.refuses_placement(self.kind) or self.placement.refuses(
            device.driver, device.link, self.kind_options
        )


def places_of(
    tables: Sequence[PlacementSpec], devices: Sequence["DeviceSpec"]
) -> tuple[PlacementSpec, ...]:
    """Give all places of an experiment: those of the file, and those its devices name themselves.

    Bare is one of them where the file has none, and where the instrument is measured.
    """
    named = {table.name: table for table in tables or (PlacementSpec(name=BARE),)}
    for name in (device.own_place or (BARE if device.is_floor else None) for device in devices):
        if name is not None:
            # It takes those who name it, and no others.
            named.setdefault(name, PlacementSpec(name=name, devices=()))
    return tuple(place for place in named.values() if any(map(place.takes, devices)))


def check_places(tables: Sequence[PlacementSpec], devices: Sequence["DeviceSpec"]) -> None:
    """ValueError: a device has no place, a place no device, or one refuses the other."""
    known = {*PLACEMENTS, *(table.name for table in tables)}
    for device in devices:
        if device.own_place is not None and device.own_place not in known:
            hint = did_you_mean(device.own_place, known)
            raise ValueError(f"device {device.name}: unknown placement {device.own_place!r}{hint}")
    places = places_of(tables, devices)
    for table in tables:
        if table not in places:
            raise ValueError(
                f"placement {table.name}: devices {list(table.devices)} matches no device"
            )
    for device in devices:
        own = [place for place in places if place.takes(device)]
        if not own and not device.is_floor:
            raise ValueError(f"device {device.name}: no [[placement]] takes it; add bare")
        for place in own:
            if (why := place.refuses(device)) is not None:
                raise ValueError(f"placement {place.name}: device {device.name}: {why}")


def refuse_places_in_turn(
    tables: Sequence[PlacementSpec], devices: Sequence["DeviceSpec"], command: str
) -> None:
    """InputError: a device would be measured in several places, where a command takes but one."""
    places = places_of(tables, devices)
    for device in devices:
        names = [place.name for place in places if place.takes(device)]
        if len(names) > 1:
            raise InputError(
                f"[[placement]]: {command} measures a device in one place, {device.name} has "
                f"{', '.join(names)}; leave one in the file, or say placement of the device"
            )


def describe_place(place: PlacementSpec) -> Placed | None:
    """Give what results have of a place; None: the host itself."""
    if place.kind == BARE:
        return None
    options = place.kind_options
    return Placed(place.kind, place.placement.version(options), options.model_dump(mode="json"))
