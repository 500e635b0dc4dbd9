"""The table of vector formats: what is known of each before its module, which its use needs, is imported.

To add a format, add a row to FORMATS and a module with its `CODE` (see contract.py). The choice by suffix, `--format`,
`sniff`, `read_vectors` and `write_vectors` follow from the row. Models are not among the formats, because vectors alone
do not make a model; model_file.py reads their vectors.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from w2vtrain.doors import is_there, leaf

if TYPE_CHECKING:  # the command line needs only the table, and starts without NumPy
    from w2vtrain.formats.vector_formats.contract import Code

DEFAULT = "text"
"""The format that is written to standard output if none is named."""
MODELS = {"fasttext": (), "model": (".safetensors",)}
"""Formats of models, which vectors alone do not make, and their suffixes: embeddings.model writes them."""
DTYPES = ("float32", "float16", "int8")
"""The dtypes in which values are written; each format has some of them."""
MARK = "w2vtrain.json"
"""A file in every folder that w2vtrain wrote, so that `--force` never replaces the folder of another program."""


WORD_LIST = ".words.txt"
"""What the name of the file ends in that has the words of an array, one per line."""


class Format(NamedTuple):
    """A row of the table.

    about: what its files are, for the documentation. suffixes: file name suffixes, in lower case and with the dot, that
    select this format for writing. module: the module of this folder that has its `CODE`; door: instead, the name in
    `doors.LEAVES` of a leaf that has it. dtypes: those of values that can be written. compressible: whether its files
    may be compressed. signature: a regular expression that matches the first bytes of its files, if any other kind of
    file has other ones. companion: what the name of a second file ends in, which is written beside the vectors and has
    what these lack, such as the words. files: the names of all files in the folder that is written, if the format is a
    folder. is_read: whether files of this format are read, and not only written.
    """

    about: str
    suffixes: tuple[str, ...] = ()
    module: str = ""
    door: str = ""
    dtypes: tuple[str, ...] = DTYPES[:1]
    compressible: bool = False
    signature: bytes = b""
    companion: str = ""
    files: tuple[str, ...] = ()
    is_read: bool = True

    def beside(self, path: str | Path) -> list[str]:
        """Return the name of the second file for a file of vectors, if the format has one."""
        return [str(Path(path).with_suffix(self.companion))] if self.companion else []

    def is_ours(self, folder: Path) -> bool:
        """Return whether w2vtrain wrote a folder of this format, which has MARK then, and nobody has added files."""
        names = {inner.relative_to(folder).as_posix() for inner in folder.rglob("*") if not inner.is_dir()}
        return MARK in names and names <= {*self.files, MARK}


FORMATS = {
    "text": Format(
        'word2vec\'s text format: a line "V d", then one line per word: the word and d decimals', (".txt", ".vec"),
        "text", compressible=True,
    ),
    "arrow": Format(
        "Arrow IPC files with the columns `word`, `count` and `vector`; they are Feather version 2, and can be mapped",
        (".arrow", ".feather"), door="tables of vectors", dtypes=DTYPES[:2], signature=b"ARROW1\0\0",
    ),
    "binary": Format(
        'word2vec\'s binary format: a line "V d", then one row per word: the word, a space and d little-endian float32'
        " values",
        (".bin",), "binary", compressible=True,
    ),
    "glove": Format(
        'GloVe\'s text format: one line per word, without a first line "V d"; it is read as text', (".glove",), "text",
        compressible=True,
    ),
    "model2vec": Format(
        "a folder that model2vec and sentence-transformers load: `StaticModel.from_pretrained`, `SentenceTransformer`",
        door="model2vec", dtypes=DTYPES, is_read=False,
        files=("model.safetensors", "tokenizer.json", "config.json", "modules.json"),
    ),
    "npy": Format(
        "a NumPy array of V rows (X.npy), and beside it their words, one per line (X.words.txt)", (".npy",), "arrays",
        dtypes=DTYPES[:2], signature=rb"\x93NUMPY", companion=WORD_LIST,
    ),
    "npz": Format(
        "a NumPy archive with the arrays `words`, `vectors` and, if known, `counts`; with int8 vectors, also `scales`",
        (".npz",), "arrays", dtypes=DTYPES, signature=rb"(?s)PK\x03\x04.{26}[^\0]*?\.npy",
    ),
    "parquet": Format(
        "Parquet tables with the columns `word`, `count` and `vector`, in row groups; the vectors are not compressed",
        (".parquet",), door="tables of vectors", dtypes=DTYPES[:2], signature=b"PAR1\x15",
    ),
    "spacy": Format(
        "a folder that `spacy.load` reads: a pipeline without components, with the vectors in its vocabulary",
        door="spacy", is_read=False,
        files=(
            "meta.json", "config.cfg", "tokenizer", "vocab/vectors", "vocab/key2row", "vocab/strings.json",
            "vocab/vectors.cfg", "vocab/lookups.bin",
        ),
    ),
    "tensorboard": Format(
        "TensorBoard's projector: vectors as tab-separated values (X.tsv), and beside it their words (X.metadata.tsv)",
        (".tsv",), door="tensorboard", companion=".metadata.tsv", is_read=False,
    ),
}  # fmt: skip


def formats() -> dict[str, Format]:
    """Return the table, without the formats of leaves that this installation does not have; DEFAULT is first."""
    return {name: form for name, form in FORMATS.items() if not form.door or is_there(form.door)}


def code(name: str) -> "Code":
    """Return the functions of a format, from its module, which is imported."""
    form = FORMATS[name]
    module = leaf(form.door) if form.door else import_module(f"{__name__}.{form.module}")
    return module.CODE[name]  # type: ignore[no-any-return]
