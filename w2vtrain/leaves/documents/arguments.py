"""The arguments of `fit` that concern documents. Nothing is read here."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from w2vtrain.commands.options import Role, argument

if TYPE_CHECKING:
    from w2vtrain.leaves.documents.documents import Documents

DOCUMENTS = "Documents (with --documents)"


@dataclass(frozen=True)
class Arguments:
    """The arguments of a `fit` command that concern documents."""

    documents: bool = argument(
        DOCUMENTS, "--documents", is_flag=True, affects=Role.LEARNED,
        help="Learn a vector for each document: a line of CORPUS, or a row of a table. The output has the vectors"
        " of documents, by line number. Default architecture: pv-dbow.",
    )  # fmt: skip
    tag: str | None = argument(
        DOCUMENTS, "--tag", metavar="COLUMN", affects=Role.LEARNED,
        help="With --column: the column that names each row's document; rows of one name share a vector.",
    )  # fmt: skip


def source_of(request: Any) -> "Documents":
    """Return the documents that a request asks for."""
    from w2vtrain.leaves.documents.documents import Documents

    return Documents(request.sources, request.tag)
