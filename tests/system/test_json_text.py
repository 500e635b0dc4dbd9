"""Tests of JSON that other programs can read, and of JSON from untrusted files."""

import json
from dataclasses import dataclass

import pytest

from w2vtrain.errors import DataError
from w2vtrain.system.json_text import json_digest, json_object, json_text, typed


def no_constant(name):
    raise AssertionError(name)


@pytest.mark.parametrize("indent", [False, True])
def test_nan_and_infinities_become_null_and_every_name_is_accepted(indent):
    about = {"a": float("nan"), "b": [float("inf"), (-float("inf"), 1.5)], "c": 2**70}
    for name in ("plain", "\udcff", "\ud800"):
        found = json.loads(json_text({name: name, **about}, indent), parse_constant=no_constant)
        assert found == {name: name, "a": None, "b": [None, [None, 1.5]], "c": 2**70}
    assert ("\n" in json_text(about, indent)) == indent
    with pytest.raises(TypeError):
        json_text({"a": object()}, indent)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "FILE is not JSON: .*; remove it$"),
        (b"\xff", "FILE is not JSON: .*; remove it$"),
        ("[" * 100_000, "FILE is not JSON: .*; remove it$"),
        ("[1]", "^FILE is not a JSON object; remove it$"),
    ],
)
def test_text_that_is_not_a_json_object_raises_data_error(text, message):
    with pytest.raises(DataError, match=message):
        json_object(text, "FILE is", "; remove it")
    assert json_object('{"a": 1}', "FILE is") == {"a": 1}


@dataclass
class Fields:
    """Fields of a file."""

    a: int = 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"\ud800b": 1}, r"'\ud800b' is not valid Unicode"),
        ({"a": "\udcff"}, r"'\udcff' is not valid Unicode"),
        ({"a": "x"}, "Expected `int`, got `str` - at `$.a`"),
    ],
)
def test_the_message_names_what_does_not_fit(values, message):
    with pytest.raises(DataError) as caught:
        typed(values, Fields, "FILE is damaged", "; remove it")
    assert str(caught.value) == f"FILE is damaged: {message}; remove it"


def test_a_digest_depends_on_values_not_on_the_order_of_keys():
    assert json_digest({"a": 1, "b": [2]}) == json_digest({"b": [2], "a": 1}) != json_digest({"a": 1, "b": [3]})
