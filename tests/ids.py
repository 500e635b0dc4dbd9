"""Ids of test parameters: short, readable, and the same in every process that collects the suite.

The workers of pytest-xdist collect separately, and nothing runs if their ids differ. An id must therefore not depend on
an address, the clock, the locale, hashes or the place of the checkout.
"""

import re

import numpy as np
import pytest

LONGEST = 40


def make_id(value, argname):
    """Return the id of a parameter that was given none, or None if pytest's own is short; fail if no id follows.

    An id follows from text, numbers, None, errors, classes, named functions, and containers of these. Bytes (which may
    be compressed data with a date), arrays, lambdas and other objects need an explicit id.
    """
    if isinstance(value, str) and len(value) <= LONGEST and value.isascii() and value.isprintable():
        return None
    found = short(value)
    if found is None:
        kind = type(value).__name__
        pytest.fail(
            f"{argname}: no id follows from a parameter of type {kind}: pass pytest.param(..., id=...), ids=[...], or "
            "ids=by_text if another parameter of the row is a text that describes it",
            pytrace=False,
        )
    return found


def by_text(value):
    """Return the id of a parameter in a row that a text describes; other objects are called by their type."""
    return short(value) or type(value).__name__


def short(value):
    """Return the first characters of a plain value, without those that pytest would escape; None for other values."""
    text = plain_text(value)
    if not text:
        return None if text is None else "empty"
    return re.sub(r"[^\w.,:=+*-]+", "_", text, flags=re.ASCII).strip("_")[:LONGEST] or None


def plain_text(value):
    """Return text that identifies a value, or None for an object that no text identifies."""
    match value:
        case str():
            return value.encode("ascii", "backslashreplace").decode()
        case float() | np.floating():
            return f"{value:g}"
        case None | int() | np.integer() | range():
            return str(value)
        case dict():
            return joined(joined(map(plain_text, item), "=") for item in value.items())
        case list() | tuple():
            return joined(map(plain_text, value))
        case BaseException():
            return f"{type(value).__name__}:{value}"
    name = getattr(value, "__name__", "<lambda>")
    return None if name == "<lambda>" else name


def joined(texts, separator=","):
    texts = list(texts)
    return None if None in texts else separator.join(texts)
