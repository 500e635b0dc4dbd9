"""Parsers convert values of settings to their type, or raise a ValueError that says what was expected."""

import pytest

from w2vtrain.parsers import Choice, Real, Table, Text, Truth, Whole


@pytest.mark.parametrize(
    ("parser", "value", "found"),
    [
        (Whole(1, 5), "5", 5),
        (Whole(1, 5), 3.0, 3),
        (Whole(1, 2**63 - 1), "9007199254740993", 2**53 + 1),
        (Whole(1, 2**63 - 1), 2**53 + 1, 2**53 + 1),
        (Whole(1, 5, ("auto",)), "auto", "auto"),
        (Real(0.0, 1.0), "1e-3", 1e-3),
        (Choice(("a", "b")), "b", "b"),
        (Text(words=("a",)), "anything", "anything"),
        (Truth(), "YES", True),
        (Truth(), 0, False),
        (Table(), {"a": 1}, {"a": 1}),
    ],
)
def test_valid_values_are_converted_to_their_type(parser, value, found):
    assert parser.parse(value) == found
    assert type(parser.parse(value)) is type(found)


@pytest.mark.parametrize(
    ("parser", "values", "message"),
    [
        (Whole(1, 5), ["0", 6, "2.5", True, None, "x", "auto", [1], "9" * 5000], "expected a whole number from 1 to 5"),
        (Whole(1, 5), ["٣", "1_0", " 1", "1 ", "1\n", "", "0x1"], "expected a whole number from 1 to 5"),
        (Real(0.0, 9.0), ["٣", "1_0", " 1", "1 ", ".", "", "1e", "1e308"], "expected a number from 0.0 to 9.0"),
        (Real(0.0, 1.0), [-0.1, "1.1", "nan", "inf", True], "expected a number from 0.0 to 1.0"),
        (Choice(("a", "b")), ["c", "", None, ["a"]], "expected a or b"),
        (Text(), [1, None], "expected text"),
        (Truth(), ["maybe", 2, None], "expected true or false"),
        (Table(), [3, "a=1"], "expected a table"),
    ],
)
def test_invalid_values_are_refused(parser, values, message):
    for value in values:
        with pytest.raises(ValueError, match=message):
            parser.parse(value)


def test_parsers_have_a_placeholder_for_the_help():
    assert (Whole(1, 2).metavar, Real(0.0, 1.0).metavar, Text().metavar) == ("N", "X", "NAME")
    assert Choice(("a", "b")).metavar == "a|b"
