"""Writing, parsing and hashing of JSON.

This module opens no files and does not know the fields of any object; its callers do.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
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
    """Return parsed JSON as a `kind`; raise DataError, which names the field that does not fit.

    If text is not valid Unicode, the error names that text, because msgspec does not say which field has it.

    kind: a dataclass, which has all fields, or a TypedDict or Struct, which has those that must fit.

    start: the beginning of the error message, such as "FILE: damaged"; remedy: its end.
    """
    import msgspec  # queries do not need it

    try:
        converted = msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise DataError(f"{start}: {error}{remedy}") from error
    except UnicodeEncodeError as error:  # a lone surrogate, such as "\ud800" in JSON
        raise DataError(f"{start}: {shown(error.object)} is not valid Unicode{remedy}") from error
    if unknown := next(_unknown(values, converted), None):
        raise DataError(f"{start}: unknown field `{unknown}`{remedy}")
    return converted


def _unknown(values: Any, kept: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the fields of parsed JSON that what it was converted to does not have."""
    if isinstance(kept, list):
        for place, (value, one) in enumerate(zip(values, kept, strict=True)):
            yield from _unknown(value, one, f"{path}[{place}]")
    elif is_dataclass(kept):
        names = {field.name for field in fields(kept)}
        for name, value in values.items():
            here = f"{path}.{name}" if path else name
            if name in names:
                yield from _unknown(value, getattr(kept, name), here)
            else:
                yield here


def json_digest(value: Any) -> str:
    """Return the SHA-256 of plain objects as 64 hexadecimal digits; the order of their keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
