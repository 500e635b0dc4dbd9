"""Writing, parsing and hashing of JSON.

This module opens no files and does not know the fields of any object; its callers do.
"""

import hashlib
import json
import math
from typing import Any, TypeVar

import orjson

from w2vtrain.errors import DataError, shown

T = TypeVar("T")


def json_text(value: Any, indent: bool = False) -> str:
    """Return plain objects as JSON, on one line or, if `indent`, indented; NaN and infinities become null.

    File names that are not UTF-8 are written as escaped surrogates, which is how Python represents them. Raises
    TypeError for an object that JSON cannot represent.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None).decode()
    except TypeError:
        return json.dumps(_finite(value), indent=2 if indent else None)


def _finite(value: Any) -> Any:
    """Return a copy with None in place of every NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {_finite(name): _finite(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_object(text: bytes | str, start: str, remedy: str = "") -> dict[str, Any]:
    """Parse a JSON object; raise DataError if `text` is not one.

    start: the beginning of the error message, such as "FILE is"; remedy: its end.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{start} not JSON: {error}{remedy}") from error
    if not isinstance(parsed, dict):
        raise DataError(f"{start} not a JSON object{remedy}")
    return parsed


def typed(values: Any, kind: type[T], start: str, remedy: str = "") -> T:
    """Return parsed JSON as a `kind`, ignoring other fields. Raise DataError, which names a field that does not fit.

    If text is not valid Unicode, the error names that text, because msgspec does not say which field has it.

    kind: a dataclass, a TypedDict or a Struct. start: the beginning of the error message, such as "FILE: damaged";
    remedy: its end.
    """
    import msgspec  # queries do not need it

    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise DataError(f"{start}: {error}{remedy}") from error
    except UnicodeEncodeError as error:  # a lone surrogate, such as "\ud800" in JSON
        raise DataError(f"{start}: {shown(error.object)} is not valid Unicode{remedy}") from error


def json_digest(value: Any) -> str:
    """Return the SHA-256 of plain objects as 64 hexadecimal digits; the order of their keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
