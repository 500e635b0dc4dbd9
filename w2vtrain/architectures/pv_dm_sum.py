"""PV-DM with a sum: the sum of a document's tags and the context words predicts the target word."""

from w2vtrain.architectures.cbow_sum import CbowSum


class PvDmSum(CbowSum):
    """h = Σ_c r_c + Σ_t d_t over the context words and tags; -dL/dr_c = -dL/dd_t = -dL/dh.

    Le & Mikolov 2014, with the sum in place of the mean, as gensim with dm_mean=0.
    """

    __slots__ = ()

    @staticmethod
    def uses_tags() -> bool:
        return True


ARCHITECTURE = PvDmSum
