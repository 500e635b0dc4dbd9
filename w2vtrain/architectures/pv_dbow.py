"""PV-DBOW, the distributed bag of words of a document: each of its tags predicts each of its words.

The words around the target are ignored, so words get no input vectors that are trained.
"""

from w2vtrain.architectures.skipgram import SkipGram


class PvDbow(SkipGram):
    """h = d_t, the input row of one tag t of the document; -dL/dd_t = -dL/dh.

    Le & Mikolov 2014, "Distributed representations of sentences and documents". With negative sampling, four
    consecutive words share their noise words.
    """

    __slots__ = ()

    @staticmethod
    def uses_words() -> bool:
        return False

    @staticmethod
    def uses_tags() -> bool:
        return True

    @staticmethod
    def in_place() -> bool:
        """Return False: most documents have one tag, and for a single row, a hidden vector is faster."""
        return False


ARCHITECTURE = PvDbow
