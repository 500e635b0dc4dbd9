"""PV-DBOW with words: each tag of a document, and each context word as in skip-gram, predicts the target word."""

from w2vtrain.architectures.skipgram import SkipGram


class PvDbowWords(SkipGram):
    """h = r_c, the input row of one context word, or d_t, that of one tag of the document; as skip-gram otherwise.

    Le & Mikolov 2014; training words in turn is recommended by Lau & Baldwin 2016, "An empirical evaluation of doc2vec
    with practical insights into document embedding generation".
    """

    __slots__ = ()

    @staticmethod
    def uses_tags() -> bool:
        return True


ARCHITECTURE = PvDbowWords
