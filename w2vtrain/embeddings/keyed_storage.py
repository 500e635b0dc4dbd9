"""Create KeyedVectors from a matrix or a file, and write them to files.

The formats are in key_files.py (word2vec's) and formats/keyed_file.py (our own).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2vtrain.embeddings.approximate import ApproximateQueries
from w2vtrain.embeddings.key_container import load_keys
from w2vtrain.embeddings.key_files import (
    Coding,
    Reordered,
    builtin_errors,
    read_counts,
    read_key_file,
    write_key_file,
)
from w2vtrain.errors import DataError, InvalidValue
from w2vtrain.formats.keyed_file import save_keys
from w2vtrain.system.compression import packed_write


class StoredVectors(ApproximateQueries):
    """Keyed vectors that can be read and written."""

    @classmethod
    def of(cls, words: Sequence[Any], matrix: NDArray[Any], counts: ArrayLike | None = None) -> Self:
        """Return an object over a matrix, which is neither copied nor checked for NaN.

        Parameters
        ----------
        words : sequence of str
            V distinct keys.
        matrix : ndarray, shape (V, d)
            One row per key. It may be a view such as ``padded[:, :d]``.
        counts : array_like of int, shape (V,), optional
            The attribute "count".

        Returns
        -------
        KeyedVectors

        Raises
        ------
        ValueError
            If the lengths do not match, or a key occurs twice.

        Examples
        --------
        >>> padded = np.ones((2, 16), np.float32)
        >>> vectors = w2vtrain.KeyedVectors.of(["red", "green"], padded[:, :10])
        >>> np.shares_memory(vectors.vectors, padded)
        True

        """
        if matrix.ndim != 2 or len(matrix) != len(words):
            raise InvalidValue(f"a matrix of shape {list(matrix.shape)} for {len(words):,} keys: pass one row per key")
        made = cls(matrix.shape[1], dtype=matrix.dtype)
        made.vectors, made.index_to_key = matrix, list(words)
        made.key_to_index = dict(zip(made.index_to_key, range(len(words)), strict=True))
        if len(made.key_to_index) != len(made):
            twice = next(key for row, key in enumerate(made.index_to_key) if made.key_to_index[key] != row)
            raise InvalidValue(f"the key {twice!r} occurs twice: keys must be distinct")
        if counts is not None:
            found = np.array(counts)
            if found.shape != (len(made),):
                raise InvalidValue(f"counts of shape {list(found.shape)} for {len(made):,} keys: pass one per key")
            made.expandos["count"] = found
        return made

    def _filled(self) -> int:
        """Return the number of rows without the free ones at the end."""
        end = len(self)
        while end and self.index_to_key[end - 1] is None:
            end -= 1
        return end

    def save(
        self,
        fname_or_handle: str | Path,
        separately: object = None,
        sep_limit: object = None,
        ignore: object = frozenset(),
        pickle_protocol: object = None,
    ) -> None:
        """Write keys, vectors and attributes to one safetensors file, completely or not at all.

        Parameters
        ----------
        fname_or_handle : str or Path
            The file to write; an existing file is replaced.
        separately, sep_limit, ignore, pickle_protocol
            Without effect: they concern pickles, which are never written.

        Raises
        ------
        TypeError
            If an attribute has a value that JSON cannot represent, or `fname_or_handle` is no path.
        OutputError, WriteError
            If the file cannot be created or written.

        Examples
        --------
        >>> vectors.save("vectors.safetensors")
        >>> w2vtrain.KeyedVectors.load("vectors.safetensors", mmap="r")
        KeyedVectors<vector_size=3, 4 keys>

        """
        rows = self._filled()
        attributes = {name: values[:rows] for name, values in self.expandos.items()}
        save_keys(Path(fname_or_handle), self.index_to_key[:rows], self.vectors[:rows], attributes)

    @classmethod
    def load(cls, fname: str | Path, mmap: str | None = None) -> Self:
        """Read a file that `save` wrote, a model, or vectors in any format of `read_vectors`; never a pickle.

        Parameters
        ----------
        fname : str or Path
            The file to read.
        mmap : {None, "r", "r+", "c"}
            Map the vectors into memory instead of reading them: read-only, writing changes to the file, or with
            private changes. This needs a file that `save` wrote.

        Returns
        -------
        KeyedVectors

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        ValueError
            If the file is invalid, or a pickle.

        Examples
        --------
        >>> vectors.save("vectors.safetensors")
        >>> w2vtrain.KeyedVectors.load("vectors.safetensors").get_vecattr("king", "count")
        np.int64(40)

        """
        with builtin_errors():
            keys, matrix, attributes = load_keys(fname, mmap)
            try:
                made = cls.of(keys, matrix)
            except InvalidValue as error:
                raise DataError(f"{fname}: {error}") from error
        made.expandos.update(attributes)
        return made

    @classmethod
    def load_word2vec_format(
        cls,
        fname: str | Path,
        fvocab: str | Path | None = None,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
        limit: int | None = None,
        datatype: Any = np.float32,
        no_header: bool = False,
    ) -> Self:
        """Read word2vec's text or binary format, or text without a header such as GloVe's.

        The file may be compressed. Of rows with the same word, only the first counts.

        Parameters
        ----------
        fname : str or Path
            The file to read.
        fvocab : str or Path, optional
            A file with a word and its count per line; words that it lacks have count 0. Without it, the counts
            decrease from the number of vectors to 1.
        binary : bool, default False
            Whether the file is binary.
        encoding, unicode_errors : str, default "utf8" and "strict"
            How to decode words, as for ``bytes.decode``.
        limit : int, optional
            Read only the first rows.
        datatype : dtype, default float32
            The type of the values.
        no_header : bool, default False
            Whether the first line of a text file is a vector.

        Returns
        -------
        KeyedVectors

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        EOFError
            If there are fewer vectors than the header promises.
        UnicodeDecodeError
            If a word cannot be decoded.
        ValueError
            If the file is invalid; the message names the line or byte.

        Examples
        --------
        >>> vectors.save_word2vec_format("vectors.bin", binary=True)
        >>> w2vtrain.KeyedVectors.load_word2vec_format("vectors.bin", binary=True, limit=2).index_to_key
        ['king', 'man']

        """
        coding = Coding(encoding, unicode_errors)
        with builtin_errors():
            words, matrix = read_key_file(fname, binary, no_header, limit, coding)
            known = None if fvocab is None else read_counts(fvocab, coding)
        counts = range(len(words), 0, -1) if known is None else [known.get(word, 0) for word in words]
        return cls.of(words, matrix.astype(datatype, copy=False), np.array(counts, np.int64))

    def save_word2vec_format(
        self,
        fname: str | Path,
        fvocab: str | Path | None = None,
        binary: bool = False,
        total_vec: int | None = None,
        write_header: bool = True,
        prefix: str = "",
        append: bool = False,
        sort_attr: str | None = "count",
    ) -> None:
        """Write word2vec's text or binary format, as float32, compressed if the suffix is .gz, .bz2 or .xz.

        Parameters
        ----------
        fname : str or Path
            The file to write; an existing file is replaced.
        fvocab : str or Path, optional
            A file for the words and their counts.
        binary : bool, default False
            Write the binary format.
        total_vec : int, optional
            The number of vectors in the header, if more are appended later.
        write_header : bool, default True
            Write the line with the numbers of vectors and dimensions.
        prefix : str, default ""
            What to put before each key.
        append : bool, default False
            Append to the file.
        sort_attr : str or None, default "count"
            Write the largest values of this attribute first, if it exists.

        Raises
        ------
        ValueError
            If a value is not finite, a key could not be read back, or there are no counts for `fvocab`.
        OutputError, WriteError
            If the file cannot be created or written.

        Examples
        --------
        >>> vectors.save_word2vec_format("vectors.txt")
        >>> Path("vectors.txt").read_text().splitlines()[:2]
        ['4 3', 'king 4.0 0.0 0.0']

        """
        order = np.arange(self._filled())
        if sort_attr in self.expandos:
            order = order[np.argsort(self.expandos[sort_attr][order][::-1], kind="stable")[::-1]]
            order = len(order) - 1 - order
        keys = [str(self.index_to_key[row]) for row in order.tolist()]
        if fvocab is not None and "count" not in self.expandos:
            raise InvalidValue("cannot write a vocabulary: the keys have no attribute 'count'")
        header = f"{len(keys) if total_vec is None else total_vec} {self.vector_size}\n" if write_header else ""
        with builtin_errors():
            words = [prefix + key for key in keys]
            write_key_file(fname, words, Reordered(self.vectors, order), binary, header, append)
        if fvocab is not None:
            counts = self.expandos["count"][order].tolist()
            with packed_write(fvocab, force=True) as file:
                file.writelines(f"{prefix}{key} {count}\n".encode() for key, count in zip(keys, counts, strict=True))

    def intersect_word2vec_format(
        self,
        fname: str | Path,
        lockf: float = 0.0,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
    ) -> None:
        """Replace the vectors of keys by those that a file has for them; no key is added.

        Parameters
        ----------
        fname : str or Path
            The file to read.
        lockf : float, default 0.0
            The value in `vectors_lockf` of each key that was replaced. 0 excludes it from training in gensim.
        binary, encoding, unicode_errors
            As for `load_word2vec_format`, which also lists the errors.

        Examples
        --------
        >>> _ = Path("other.txt").write_text("2 3\\nking 7 7 7\\nprince 1 2 3\\n")
        >>> vectors.intersect_word2vec_format("other.txt")
        >>> vectors["king"], len(vectors)
        (array([7., 7., 7.], dtype=float32), 4)

        """
        with builtin_errors():
            words, matrix = read_key_file(fname, binary, False, None, Coding(encoding, unicode_errors))
        if matrix.shape[1] != self.vector_size:
            raise InvalidValue(f"{fname} has vectors of {matrix.shape[1]} values, expected {self.vector_size}")
        pairs = [(self.key_to_index[word], at) for at, word in enumerate(words) if word in self.key_to_index]
        rows, found = (list(column) for column in zip(*pairs, strict=True)) if pairs else ([], [])
        self._writable()[rows] = matrix[found]
        self.norms = None
        locks = np.asarray(getattr(self, "vectors_lockf", np.ones(1, np.float32)))
        self.vectors_lockf = np.full(len(self), locks[0], np.float32) if len(locks) == 1 else locks
        self.vectors_lockf[rows] = lockf
