"""What a model's record says: the text that was read, each epoch, the seconds of each phase, and the versions.

It measures nothing but what the process has used, and decides nothing.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from w2vtrain.engines.schedule import Epoch, State, Weights, bounded
from w2vtrain.system.machine import peak_memory, versions
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.training.perplexity import PerplexityScore


@dataclass
class Record:
    """The record of a run as it grows.

    epochs: in JSON's types, at most schedule.MOST_EPOCHS; seconds: by phase, in the order of the phases.
    """

    epochs: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, epoch: Epoch, spent: float, heldout: PerplexityScore | None) -> None:
        """Add an epoch. spent: seconds of training until its end; heldout: its score, if there is held-out text."""
        about = {**asdict(epoch), "elapsed": spent}
        if heldout:
            about["heldout"] = asdict(heldout)
        self.epochs = list(bounded([*self.epochs, about]))

    def finished(self, ids: EncodedCorpus, state: State, parameters: int, best_epoch: int | None) -> dict[str, Any]:
        """Return the record of a run that ended in this state, with so many output parameters, in JSON's types."""
        record = {
            "corpus": asdict(ids.stats),
            "vocabulary": {"size": len(ids.vocabulary), "words": ids.words},
            "epochs": self.epochs,
            "seconds": self.seconds,
            "words_per_second": state.passed / max(state.spent, 1e-9),
            "output_parameters": parameters,
            "peak_memory_bytes": peak_memory(),
            "versions": versions(),
        }
        return record if best_epoch is None else {**record, "best_epoch": best_epoch}


def output_parameters(objective: Any, weights: Weights) -> int:
    """Return how many numbers the output layer has learned."""
    if objective.engine == "blocks":
        return sum(array.size for array in objective.parameters().values())
    return weights.output.size + (weights.arrays["bias"].size if "bias" in weights.arrays else 0)
