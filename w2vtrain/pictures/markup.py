"""Parts of a page as HTML: tables, lists of names and values, and the line that says what is lacking."""

from collections.abc import Iterable, Sequence

from w2vtrain.pictures.page import escaped

LONGEST_WORD = 60
"""Characters of a word that a page shows; the whole word is its title."""


def word_html(word: str) -> str:
    """Return a word, which may be of any script, as HTML; a very long one is cut in the middle."""
    if len(word) <= LONGEST_WORD:
        return f"<bdi>{escaped(word)}</bdi>"
    half = LONGEST_WORD // 2
    return f'<bdi title="{escaped(word[:1000])}">{escaped(word[:half])}…{escaped(word[-half:])}</bdi>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a table of HTML cells, the first of each row being its title. right: columns of figures."""
    kinds = [' class="n"' if column in right else "" for column in range(len(head))]
    titles = "".join(f'<th scope="col"{kind}>{text}</th>' for kind, text in zip(kinds, head, strict=True))
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td{kind}>{text}</td>" for kind, text in zip(kinds[1:], others, strict=True))
        lines.append(f'<tr><th scope="row"{kinds[0]}>{first}</th>{cells}</tr>')
    body = "\n".join(lines)
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def pairs(rows: Iterable[tuple[str, str | None]], kind: str = "pairs") -> str:
    """Return names and values, which are HTML, as a list; those without a value are left out."""
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows if value is not None)
    return f'<dl class="{kind}">{items}</dl>' if items else ""


def lacks(sentence: str) -> str:
    """Return the line of a section that says what it lacks."""
    return f'<p class="lacks">{escaped(sentence)}</p>'
