"""Pages: whether their colors can be read and told apart by everyone, and long words."""

from itertools import combinations

import numpy as np
import pytest

from w2vtrain.leaves.pictures.page import DARK, LIGHT, MAX_CHARACTERS, shortened

# How the eye of a reader without one kind of cone sees linear RGB: Machado et al. 2009, severity 1.
EYES = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(color: str) -> np.ndarray:
    """Return the linear RGB values of a color of sRGB."""
    values = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors as WCAG 2 defines it."""
    low, high = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Return linear RGB in Oklab (Ottosson 2020), where distances are those that people see."""
    cones = np.cbrt(
        np.array([[0.41222147, 0.53633254, 0.05144599], [0.2119035, 0.68069955, 0.10739696], [0.08830246, 0.28171884,
                                                                                             0.62997870]])
        @ np.clip(rgb, 0, 1)
    )  # fmt: skip
    return np.array([[0.21045426, 0.79361779, -0.00407205], [1.9779985, -2.42859221, 0.45059371], [0.0259040,
                    0.78277177, -0.80867577]]) @ cones  # fmt: skip


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_curves_have_enough_contrast(colors):
    for name in ("ink", "muted", "link", "warn"):
        assert min(contrast(colors[name], colors[ground]) for ground in ("bg", "panel")) >= 4.5, name
    for name in ("c1", "c2", "c3", "c4"):
        assert contrast(colors[name], colors["bg"]) >= 3, name


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_readers_with_every_kind_of_cones_can_tell_the_curves_apart(colors, eye):
    seen = {name: oklab(np.asarray(EYES[eye]) @ linear(colors[name])) for name in ("c1", "c2", "c3", "c4")}
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 0.15, (one, other)


def test_the_measure_of_color_differences_finds_red_and_green_confusable():
    red, green = (oklab(np.asarray(EYES["deuteranopia"]) @ linear(color)) for color in ("#b05050", "#707030"))
    assert np.linalg.norm(red - green) < 0.1


def test_a_long_word_is_cut_in_the_middle():
    assert shortened("a" * 5000 + "&") == f"{'a' * 30}…{'a' * 28}&"
    assert len(shortened("a" * 5000)) == MAX_CHARACTERS
    assert shortened("a&b") == "a&b"
