"""Writing, parsing and hashing of JSON.

This module opens no files and does not know the fields of any object; its callers do.
"""

import hashlib
import json
import math
from typing import Any, TypeVar, get_type_hints

import orjson

from w2vtrain.errors import DataError

T = TypeVar("T")


def json_text(about: Any, indent: bool = False) -> str:
    """Return plain objects as JSON, on one line or, if `indent`, indented; NaN and infinities become null.

    File names that are not UTF-8 are written as escaped surrogates, which is how Python represents them. Raises
    TypeError for an object that JSON cannot represent.
    """
    try:
        return orjson.dumps(about, option=orjson.OPT_INDENT_2 if indent else None).decode()
    except TypeError:
        return json.dumps(_finite(about), indent=2 if indent else None)


def _finite(about: Any) -> Any:
    """Return a copy with None in place of every NaN and infinity, which JSON does not have."""
    if isinstance(about, dict):
        return {_finite(name): _finite(value) for name, value in about.items()}
    if isinstance(about, (list, tuple)):
        return [_finite(part) for part in about]
    return None if isinstance(about, float) and not math.isfinite(about) else about


def json_object(text: bytes | str, what: str, remedy: str = "") -> dict[str, Any]:
    """Parse a JSON object; raise DataError if `text` is not one.

    what: the beginning of the error message, such as "FILE is"; remedy: its end.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{what} not JSON: {error}{remedy}") from error
    if not isinstance(found, dict):
        raise DataError(f"{what} not a JSON object{remedy}")
    return found


def record(values: Any, kind: type[T], what: str, remedy: str = "") -> T:
    """Return parsed JSON as a `kind`, a dataclass; raise DataError, which names the field that does not fit.

    what: the beginning of the error message, such as "FILE: damaged"; remedy: its end.
    """
    import msgspec  # queries do not need it

    try:
        found = msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise DataError(f"{what}: {error}{remedy}") from error
    if unknown := values.keys() - get_type_hints(kind).keys():
        raise DataError(f"{what}: unknown field `{min(unknown)}`{remedy}")
    return found


def json_digest(about: Any) -> str:
    """Return the SHA-256 of plain objects as 64 hexadecimal digits; the order of their keys does not matter."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
