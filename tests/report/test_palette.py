import pytest

from taut.explain.causes import CAUSES
from taut.report.palette import (
    DARK,
    DEVICE_TOKENS,
    LIGHT,
    cause_token,
    colour_devices,
    css_name,
    resolve,
    shade,
    style_sheet,
)
from taut.testing.causes import contrast, stands_out


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_device_colours_stand_out_from_the_surface(theme):
    for token in DEVICE_TOKENS:
        for state in range(4):
            assert contrast(theme[shade(token, state)], theme["@surface"]) >= 3, (token, state)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("surface", ["@surface", "@raised", "@warned"])
def test_words_stand_out_from_what_they_stand_on(theme, surface):
    for token in ("@ink", "@muted", "@faint", "@alert", "@good", "@link"):
        assert contrast(theme[token], theme[surface]) >= 4.5, token


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_cause_has_a_colour_of_its_own_that_stands_out(theme):
    tokens = [cause_token(cause.id) for cause in CAUSES]

    assert len({theme[token] for token in tokens}) == len(CAUSES)
    for cause in CAUSES:
        stands_out(cause)
    for token in [*map(cause_token, ("entry and exit", "own packets", "residual"))]:
        assert contrast(theme[token], theme["@surface"]) >= 3, token


def test_a_cause_of_another_version_has_the_colour_of_unknown():
    assert cause_token("no-such-cause") == cause_token("unknown")


def test_the_style_sheet_has_every_token_in_both_themes():
    assert css_name(cause_token("entry and exit")) == "--cause-entry-and-exit"
    for token in LIGHT:
        assert style_sheet().count(f"{css_name(token)}:") == 2


def test_both_themes_know_every_token():
    assert set(LIGHT) == set(DARK)


def test_floors_are_grey_and_devices_keep_their_order():
    colours = colour_devices({"floor": True, "a": False, "b": False})

    assert colours == {"floor": "@floor1", "a": "@device1", "b": "@device2"}


def test_states_of_a_device_are_shades_of_its_colour():
    shades = [shade("@device2", state) for state in range(5)]

    assert shades[0] == shades[4] == "@device2"
    for theme in (LIGHT, DARK):
        assert len({theme[token] for token in shades}) == 4


def test_tokens_are_replaced_wherever_they_stand():
    spec = {"a": ["@ink", {"b": "@surface"}], "n": 3, "text": "mail@ink"}

    assert resolve(spec, {"@ink": "#000", "@surface": "#fff"}) == {
        "a": ["#000", {"b": "#fff"}],
        "n": 3,
        "text": "mail@ink",
    }
