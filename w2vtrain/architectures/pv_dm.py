"""PV-DM, the distributed memory of a document: the mean of its tags and the context words predicts the target word."""

from w2vtrain.architectures.cbow import Cbow


class PvDm(Cbow):
    """h = (Σ_c r_c + Σ_t d_t) / n over the n context words and tags; each changes by all of -dL/dh, as in CBOW.

    Le & Mikolov 2014, "Distributed representations of sentences and documents".
    """

    __slots__ = ()

    @staticmethod
    def uses_tags() -> bool:
        return True


ARCHITECTURE = PvDm
