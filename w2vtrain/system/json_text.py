"""Write plain objects as JSON, read JSON objects back, and digest them.

It opens no file and knows no object's fields: its callers do.
"""

import hashlib
import json
import math
from typing import Any

import orjson

from w2vtrain.errors import DataError


def json_text(about: Any, indent: bool = False) -> str:
    """Return plain objects as JSON, on one line or indented for people; NaN and infinities become null.

    File names that are not UTF-8 come back as Python had them: as escaped surrogates. Raises TypeError for an object
    that JSON cannot represent.
    """
    try:
        return orjson.dumps(about, option=orjson.OPT_INDENT_2 if indent else None).decode()
    except TypeError:
        return json.dumps(_finite(about), indent=2 if indent else None)


def _finite(about: Any) -> Any:
    """Return a copy with None for every number that JSON does not have."""
    if isinstance(about, dict):
        return {_finite(name): _finite(value) for name, value in about.items()}
    if isinstance(about, (list, tuple)):
        return [_finite(part) for part in about]
    return None if isinstance(about, float) and not math.isfinite(about) else about


def json_object(text: bytes | str, what: str, remedy: str = "") -> dict[str, Any]:
    """Parse a JSON object; raise DataError if `text` is none.

    what: the beginning of the message, "FILE is"; remedy: its end.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{what} not JSON: {error}{remedy}") from error
    if not isinstance(found, dict):
        raise DataError(f"{what} not a JSON object{remedy}")
    return found


def json_digest(about: Any) -> str:
    """Return the SHA-256 of plain objects as 64 hexadecimal digits; the order of their keys does not matter."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
