"""The base class of reports on evaluation sets: the settings that a comparison must state, and their JSON."""

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Report:
    """Scores on the set in the file `path`, with the settings that a comparison with other results must state.

    task: the kind of the set; facts: the attributes that JSON has besides those of all reports, in this order.
    """

    path: str
    restrict_vocab: int | None
    case_insensitive: bool

    task: ClassVar[str]
    facts: ClassVar[tuple[str, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as built-in types, ready for JSON."""
        settings = {"restrict_vocab": self.restrict_vocab, "case_insensitive": self.case_insensitive}
        return {"task": self.task, "file": self.path, **settings, **{name: getattr(self, name) for name in self.facts}}
