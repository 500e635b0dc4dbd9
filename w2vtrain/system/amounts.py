"""Sizes, durations and counts as text. Nothing is measured here."""


def size_text(size: float) -> str:
    """Return a number of bytes as text: 12.5 KiB, 3.1 MiB, 1,234 MiB or 11.7 GiB."""
    if size < 2**20:
        return f"{size / 2**10:,.1f} KiB"
    mib = size / 2**20
    if mib < 10_000:
        return f"{mib:,.1f} MiB" if mib < 9.95 else f"{mib:,.0f} MiB"
    return f"{mib / 2**10:,.1f} GiB"


def duration(seconds: float) -> str:
    """Return a duration as text: 0.31 s, 3.0 s, 42 s, 2:05 min or 1:02:03 h."""
    if seconds < 59.5:
        return f"{round(seconds, 2):g} s" if seconds < 0.995 else f"{seconds:.{int(seconds < 9.95)}f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d} h"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is 1: 1 start, 2 processes, 1,000 words."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{'es' if noun.endswith('s') else 's'}"
