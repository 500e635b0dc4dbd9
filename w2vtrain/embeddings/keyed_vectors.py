"""KeyedVectors: vectors by key, with the names, signatures and results of gensim's class of this name.

The parts are in key_table.py (keys and attributes), vector_table.py, vector_edits.py, queries.py, comparisons.py,
keyed_evaluation.py, approximate.py and keyed_storage.py (files). This module adds conversion to and from gensim.
"""

import warnings
from typing import Any, Self

from w2vtrain.embeddings.keyed_storage import StoredVectors
from w2vtrain.successors import with_successors

NEEDS_GENSIM = "this needs gensim, which has no release for Python 3.14 or later: pip install 'gensim>=4.4,<5'"


@with_successors
class KeyedVectors(StoredVectors):
    """Vectors by key, such as words: lookups, similarity queries, evaluation and files.

    Names, signatures, results and the built-in classes of errors are those of gensim's ``KeyedVectors``.

    Parameters
    ----------
    vector_size : int
        The number of dimensions, d.
    count : int, default 0
        The number of rows to allocate. `add_vector` fills them before it adds rows.
    dtype : dtype, default float32
        The type of the values.
    mapfile_path : None
        Has no effect in gensim, and is refused here.

    Attributes
    ----------
    vectors : ndarray, shape (V, d)
        One row per key. Call ``fill_norms(force=True)`` after changing it in place.
    norms : ndarray, shape (V,), or None
        The lengths of the rows, if they are known; see `fill_norms`.
    index_to_key : list of str
        The key of each row.
    key_to_index : dict of str to int
        The row of each key.
    vector_size : int
        The number of dimensions, d.
    expandos : dict of str to ndarray
        Attributes of keys, such as "count"; see `set_vecattr`.

    Examples
    --------
    The examples of all methods begin with these vectors.

    >>> import numpy as np
    >>> import w2vtrain
    >>> rows = np.array([[4, 0, 0], [0, 3, 0], [0, 2, 1], [4, 2, 1]], np.float32)
    >>> vectors = w2vtrain.KeyedVectors.of(["king", "man", "woman", "queen"], rows, counts=[40, 30, 20, 10])
    >>> vectors
    KeyedVectors<vector_size=3, 4 keys>

    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}<vector_size={self.vector_size}, {len(self)} keys>"

    def to_gensim(self) -> Any:
        """Return gensim's ``KeyedVectors`` over the same matrix.

        Returns
        -------
        gensim.models.KeyedVectors

        Raises
        ------
        ImportError
            If gensim is not installed.

        """
        try:
            from gensim.models import KeyedVectors as Theirs
        except ImportError as error:
            raise ImportError(NEEDS_GENSIM) from error
        made = Theirs(self.vector_size, dtype=self.vectors.dtype)
        made.index_to_key, made.key_to_index = list(self.index_to_key), dict(self.key_to_index)
        made.vectors, made.expandos, made.next_index = self.vectors, dict(self.expandos), self.next_index
        return made

    @classmethod
    def from_gensim(cls, keyed: Any) -> Self:
        """Return an object over the matrix of gensim's ``KeyedVectors``, with its keys and attributes.

        Parameters
        ----------
        keyed : gensim.models.KeyedVectors
            The object to convert; it is not changed.

        Returns
        -------
        KeyedVectors

        Raises
        ------
        ValueError
            If the keys are not distinct, or not one per row.

        """
        made = cls.of(keyed.index_to_key, keyed.vectors)
        made.expandos.update(keyed.expandos)
        return made

    def init_sims(self, replace: bool = False) -> None:
        """Do what `fill_norms` does or, with `replace`, what `unit_normalize_all` does; deprecated, as in gensim."""
        warnings.warn("init_sims is deprecated: use fill_norms or unit_normalize_all", DeprecationWarning, stacklevel=2)
        if replace:
            self.unit_normalize_all()
        else:
            self.fill_norms()

    def similarity_unseen_docs(self, *args: object, **kwargs: object) -> None:
        """Refuse, as gensim does: only a Doc2Vec model can infer the vectors of documents."""
        raise NotImplementedError("similarity_unseen_docs needs a Doc2Vec model, which w2vtrain does not have")
