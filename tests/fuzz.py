"""Coverage-guided fuzzing of every reader of untrusted files: `python tests/fuzz.py LOADER...`; needs atheris.

An input fails if it raises anything but a W2VError, causes a warning, takes more than 256 MiB of additional memory, or
takes longer than SLOWEST seconds. libFuzzer then exits with a nonzero code and saves the input in the folder
--artifacts.
"""

import argparse
import bz2
import ctypes
import gzip
import inspect
import itertools
import json
import lzma
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import zstandard

from w2vtrain import config, parsers
from w2vtrain.commands import fit_request, resume
from w2vtrain.embeddings import (
    analogies,
    categories,
    datasets,
    intervals,
    keyed_rows,
    keyed_vectors,
    model,
    outliers,
    similarity,
)
from w2vtrain.errors import ResourceError, W2VError
from w2vtrain.formats import describe, fasttext_file, model_file, safetensors, sniff, vector_formats, vectors
from w2vtrain.formats.vector_formats import rows as vector_rows
from w2vtrain.formats.vector_formats import word2vec as word2vec
from w2vtrain.leaves.compare import comparison, comparison_picture, comparison_tables, trial
from w2vtrain.leaves.tables import columns, delimited, json_lines
from w2vtrain.leaves.tables import source as tables
from w2vtrain.probability import classes, trees, word_files
from w2vtrain.system import compression, json_text, reading
from w2vtrain.text import text_files, tokenizers, vocabulary
from w2vtrain.training import checkpoint_file, checkpointing, plan, predictor
from w2vtrain.training.fingerprint import FileRead, Fingerprint
from w2vtrain.training.run_files import Config, run_config, write_config
from w2vtrain.training.state import Epoch, Saved, State

ATTACKS = Path(__file__).parent / "formats/attacks"
LONGEST = 4096  # bytes per input
MEMORY = 256 << 20  # bytes that an input may take in addition to the memory used at the start
SLOWEST = 20  # seconds per input
MODULES = (
    analogies, categories, checkpoint_file, checkpointing, classes, columns, comparison, comparison_picture,
    comparison_tables, compression, config, datasets, delimited, describe, fasttext_file, intervals, json_lines,
    json_text, keyed_rows, keyed_vectors, model, model_file, outliers, parsers, predictor, reading, fit_request, resume,
    safetensors, similarity, sniff, tables, text_files, trees, vector_rows, vectors, vocabulary, word2vec,
    word_files,
    tomllib._parser, tomllib._re,
    *(sys.modules[vector_formats.code(name).write.__module__] for name in vector_formats.formats()),
)  # fmt: skip
# A mutation may replace a word, a number or a string (TOKEN) by one of VALUES, in addition to libFuzzer's own changes.
TOKEN = re.compile(rb'"[^"]*"|[-+.\w]+|[\[{][]}]?')
VALUES = [
    b"null", b"true", b"-1", b"0", b"1", b"2.5", b"nan", b"inf", b"1e999", b"-1e-320", b"9" * 30, b"9" * 2000,
    b"0x" + b"f" * 3600, b'""', b'"x"', b'"\\ud800"', b'"\\u0000"', b"[]", b"{}", b'["x"]', b'{"x": 1}', b"[" * 1500,
    b'{"a":' * 500, b"{a.b=" * 300, b"a" * 1500, b"", b" ", b"\n", b"\xff", "\ufeff".encode(),
]  # fmt: skip
WORDS = ["king", "man", "woman", "queen", "King", "paris", "\u00e9t\u00e9"]
ROWS = np.random.default_rng(1).standard_normal((len(WORDS), 3)).astype(np.float32)
COUNTS = np.arange(len(WORDS), 0, -1)
REFUSED: Counter[str] = Counter()
"""The number of inputs rejected so far, by the name of the error."""
TRIAL = trial.Trial(
    "softmax seed 1", ["text"], "heldout", {"alpha": 0.1, "seed": 1, "threads": 1, "epochs": 2, "seconds": None}
)


class Loader(NamedTuple):
    """A reader under test.

    read(path): reads an input; it may write to the input's folder. seeds(folder): yields the initial inputs; it may
    create files in `folder`.
    """

    read: Callable[[Path], object]
    seeds: Callable[[Path], Iterator[bytes]]


def refused(read, *args, **options):
    """Return what a reader returns, or None if it rejects the input with a W2VError, as it should."""
    try:
        return read(*args, **options)
    except ResourceError:
        raise  # no input of at most LONGEST bytes should need much memory
    except W2VError as error:
        REFUSED[type(error).__name__] += 1
        return None


def read_vectors(path):
    for options in ({}, {"lenient": True}, {"limit": 1}):
        if found := refused(vectors.read_vectors, path, **options):
            assert 0 < len(found.words) == len(set(found.words)) == len(found.matrix)
            assert np.isfinite(found.matrix).all()
    refused(describe.describe, path)


def read_model(path):
    read_vectors(path)
    if found := refused(model.load_model, path):
        refused(predictor.model_predictor, found)


def read_keyed(path):
    """Read a file as keys and vectors, in every way that KeyedVectors has."""
    read, load = keyed_vectors.KeyedVectors.load, keyed_vectors.KeyedVectors.load_word2vec_format
    for mmap in (None, "r"):
        if found := refused(read, path, mmap):
            assert len(found.vectors) == len(found) == len(found.key_to_index)
            assert all(len(values) == len(found) for values in found.expandos.values())
    for options in ({"binary": True}, {"limit": 1}, {"unicode_errors": "replace"}, {"no_header": True}):
        with suppress(UnicodeDecodeError):
            if found := refused(load, path, **options):
                assert len(found.vectors) == len(found) == len(found.key_to_index)
                assert np.isfinite(found.vectors).all()


def read_state(path):
    """Read a checkpoint, once with its checksum and once with the right one, which whoever tampers can compute."""
    checkpoint_file.path_of(path.parent, 1).write_bytes(path.read_bytes())
    refused(checkpoint_file.read, path.parent, 1)
    with patch.object(checkpoint_file, "checksum", lambda *about: ""):
        refused(checkpoint_file.read, path.parent, 1)
    refused(checkpoint_file.newest_saved, path.parent, "")


def read_settings(path):
    if found := refused(config.resolve, {}, {}, path):
        refused(plan.effective, found[0])


def read_questions(path):
    words = vectors.Vectors(WORDS, ROWS)
    for insensitive in (True, False):
        if found := refused(analogies.evaluate_analogies, words, path, case_insensitive=insensitive):
            found.to_dict()


def read_pairs(path):
    words = vectors.Vectors(WORDS, ROWS)
    if found := refused(similarity.evaluate_similarity, words, path):
        found.to_dict()


def read_topics(path):
    if found := refused(outliers.evaluate_outliers, vectors.Vectors(WORDS, ROWS), path):
        assert 0 <= found.found <= found.answered <= found.asked
        json_text.json_text(found.to_dict())


def read_categories(path):
    if found := refused(categories.evaluate_categories, vectors.Vectors(WORDS, ROWS), path):
        assert 0 < found.majority <= found.answered <= found.asked
        json_text.json_text(found.to_dict())


def read_tree(path):
    refused(trees.tree_from_file, path, WORDS)


def read_word_classes(path):
    refused(classes.classes_from_file, path, WORDS)


def read_compressed(path):
    def through(pieces):
        for _ in pieces:
            pass

    def opened():
        with reading.open_input(path) as (file, _):
            while file.read(1 << 20):
                pass

    refused(opened)
    for tokenizer in ("whitespace", *tokenizers.REWRITING):
        refused(lambda tokenizer=tokenizer: through(text_files.Corpus([str(path)], tokenizer).read()))


def read_column(suffix, path):
    """Read a column of text and one of lists of words in a table of the format that the suffix says."""
    table = path.with_suffix(suffix)
    table.write_bytes(path.read_bytes())

    def through(column):
        for _ in tables.Tables([str(table)], column).read():
            pass

    for column in ("text", "words", "a.b"):
        refused(through, column)


def read_run(path):
    """Read a run's config.json, both as `resume` does and as the same `fit` command does."""
    folder = path.parent / "run"
    folder.mkdir(exist_ok=True)
    (folder / checkpointing.CONFIG).write_bytes(path.read_bytes())
    if found := refused(run_config, folder):
        refused(resume.asked_before, folder, found)
    refused(
        checkpointing.CheckpointedRun(folder).read, config.Settings(), {"cwd": "/", "request": {"sources": ["text"]}}
    )


def read_result(path):
    """Read a result in the folder of `compare`, and show it."""
    name = path.parent / "softmax-seed-1.json"
    name.write_bytes(path.read_bytes())
    if found := refused(comparison.result, path.parent, TRIAL, print):
        comparison_tables.table([found]), comparison_tables.plain([found]), comparison_tables.comma_separated([found])
        comparison_tables.unreliable([found]), comparison_tables.busy([found])
        comparison_picture.curves([found]), comparison_picture.title([found])


def attacks(*suffixes):
    return [path.read_bytes() for path in sorted(ATTACKS.iterdir()) if path.name.endswith(suffixes)]


def attacks_on(loader):
    """Return the attack files for one loader only. Those directly in ATTACKS are, or claim to be, vectors or models."""
    return sorted((ATTACKS / loader).glob("*"))


def made(folder, write, *args, **options):
    path = folder / "made"
    write(path, *args, **options)
    data = path.read_bytes()
    path.unlink()
    return data


def text_seeds(folder):
    yield from attacks(".txt")
    for format in ("text", "glove"):
        yield made(folder, vectors.write_vectors, WORDS, ROWS, format)
    yield b"king 1 2.5 -3e-2\nman 4 5 6\n"
    yield "\ufeff2 1\r\nking\t 1.5 \r\n\u00e9t\u00e9  .5\r\n".encode()


def binary_seeds(folder):
    yield from attacks(".bin")
    data = made(folder, vectors.write_vectors, WORDS, ROWS, "binary")
    yield data
    yield gzip.compress(data, mtime=0)


def read_beside(path):
    """Read an array, with words beside it."""
    path.with_suffix(".words.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")
    read_vectors(path)


def array_seeds(*names):
    def seeds(folder):
        for name in names:
            for dtype in vector_formats.formats()[name].dtypes:
                vectors.write_vectors(folder / "made", WORDS, ROWS, name, force=True, dtype=dtype, counts=COUNTS)
                yield (folder / "made").read_bytes()
        for path in folder.glob("made*"):
            path.unlink()

    return seeds


def vocabulary_seeds(_):
    yield from attacks("vocabulary.txt", "newlines.txt", "latin1.txt", "utf16.txt")
    yield "</s> 9\n\u00e9t\u00e9 9223372036854775807\r\na\t1\n".encode()


def models(folder):
    tree = dict(zip(("tree.start", "tree.nodes", "tree.codes"), trees.huffman(COUNTS), strict=True))
    for settings, rows, arrays in (
        ({"objective": "neg"}, 7, {}),
        ({"objective": "softmax", "model": "cbow", "bias": True}, 7, {"bias": ROWS[:, 0].copy()}),
        ({"objective": "nce", "options": {"negative": 2}}, 7, {}),
        ({"objective": "hs"}, 6, tree),
        ({"objective": "class-softmax"}, 7, {"class.of": np.arange(7, dtype=np.int32) % 3, "class.rows": ROWS[:3]}),
    ):
        settings = {"vector_size": 3, "window": 2, **settings}
        found = model.Model(WORDS, COUNTS, ROWS, ROWS[:rows], arrays, settings, {"epochs": []})
        yield made(folder, model.save_model, found)


def model_seeds(folder):
    yield from attacks(".safetensors")
    yield from models(folder)


def fasttext_seeds(folder):
    yield from (path.read_bytes() for path in sorted(ATTACKS.glob("fasttext*")))
    buckets = np.arange(40, dtype=np.int32)
    rows = np.concatenate([ROWS, np.ones((40, 3), np.float32)])
    for settings, arrays in (
        ({"objective": "hs", "architecture": "cbow"}, {}),
        ({"subwords": True, "minn": 2, "maxn": 4, "bucket": 40}, {"input_rows": rows, "ngram_buckets": buckets}),
    ):
        found = model.Model(WORDS, COUNTS, ROWS, ROWS[: 7 - (not arrays)], arrays, {"vector_size": 3, **settings})
        found.save_fasttext(folder / "made")
        yield (folder / "made").read_bytes()
        (folder / "made").unlink()


def keyed_seeds(folder):
    keyed = keyed_vectors.KeyedVectors.of(WORDS[:3], ROWS[:3], COUNTS[:3])
    keyed.set_vecattr("king", "tag", "x")
    keyed.save(folder / "keyed")
    yield (folder / "keyed").read_bytes()
    for binary in (False, True):
        keyed.save_word2vec_format(folder / "keyed", binary=binary)
        yield (folder / "keyed").read_bytes()
    yield b"3 1\nx 1\n\xe9 2\nx 3\n"


def state_of(folder):
    arrays = {"input": ROWS, "codes": np.array([1, 0], np.uint8), "stream": np.array([7], np.uint64)}
    epoch = Epoch(1, 0.5, 8, 9, 2.5)
    read = Fingerprint(1, 2, [FileRead("text", 3, 4)])
    saved = Saved(
        State().after(epoch),
        read,
        [asdict(epoch)],
        finished=1,
        scoring=0.5,
        lowest=9.5,
        waited=0,
        best=False,
        settings="",
    )
    return made(
        folder,
        safetensors.write_safetensors,
        arrays,
        {"run": "", "sha256": "", "about": json_text.json_text(asdict(saved))},
    )


def state_seeds(folder):
    yield state_of(folder)
    yield from model_seeds(folder)


def settings_seeds(_):
    for path in sorted((Path(__file__).parent.parent / "configs").glob("*.toml")):
        yield path.read_bytes()
    yield b'model = "cbow"\nalpha = 0.1\nmin-count = 1\nthreads = "auto"\nbias = true\nmax_vocab = 0x10\n'
    yield b'[objective]\nname = "nce"\n[objective.options]\nnegative = 5\nz = "learned"\n[options]\nshared = 1_0\n'
    yield b"seed = 1979-05-27T07:32:00Z\nsample = [1e-3, {a.b = inf}]\nalpha = nan\n'window' = '''5'''\n"


def question_seeds(_):
    yield b": family\nking man queen woman\nKing man woman queen\n\n: gram1-empty\n"
    yield "\ufeff: caf\u00e9\r\nparis \u00e9t\u00e9 king man\r\n".encode()
    yield bz2.compress(b": a\nking man queen woman\n")


def pair_seeds(_):
    yield b"# word word score\nking queen 9.5\nman\twoman\t8\nparis King 1e-3\n"
    yield "\ufeffking\t\u00e9t\u00e9\t0.1\r\nman queen -2\r\n".encode()
    yield b'id,"Word 1",word2,POS,Human (mean)\n1,king,"queen",N,9.5\n2,man,woman,N,8\n'


def topic_seeds(_):
    yield b"king\nman\nqueen\n\nparis\nwoman\n"
    yield "\ufeffking\r\nKing\r\n \r\n\r\n\u00e9t\u00e9\r\n\r\nparis of france".encode()


def category_seeds(_):
    yield b"king\tman\nqueen\twoman\nman\tman\nparis\tcity\n"
    yield "\ufeffking\ta b\r\n\r\nqueen of hearts\t\u00e9t\u00e9\r\nKing\ta b\r\n".encode()


def tree_seeds(_):
    yield "".join(f"{word} {number:03b}\n" for number, word in enumerate(WORDS)).encode()
    yield "\ufeffking 0\r\nman 10\r\nwoman 110\r\nqueen 1110\nKing 11110\nparis 111110\n\u00e9t\u00e9 111111".encode()
    yield b"king 0\nking 1\n"
    yield b"king 0\nman 01\n"


def class_seeds(_):
    yield "".join(f"{word}\t{number % 3}\n" for number, word in enumerate(WORDS)).encode()
    yield "\ufeffking a\r\nman  b\r\n\u00e9t\u00e9 \u00e9t\u00e9".encode()


def compressed_seeds(_):
    text = "one two\nthree \u00e9t\u00e9 Caf\u00e9\n".encode() * 3
    for pack in (
        gzip.compress, bz2.compress, lzma.compress, zstandard.compress,
        zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress,
        lambda data: lzma.compress(data, preset=9, check=lzma.CHECK_SHA256),
    ):  # fmt: skip
        yield pack(text)
        yield pack(text) + pack(b"") + bytes(4) + pack(b"end")
        yield pack(bytes(300_000))
    yield b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstandard.compress(text)
    yield text
    yield b"\xef\xbb\xbfa\0"
    yield from attacks(".gz", ".bz2", ".xz", ".zst")


def record_seeds(_):
    yield b'{"text": "a b", "words": ["a b", ""], "a": {"b": "x\\ny"}}\n\n{"text": "c", "words": [], "a": {"b": ""}}\n'
    yield b'\xef\xbb\xbf{"text": "\\ud83d\\ude00", "n": 1e9, "words": [null], "a": [NaN, {}]}\r\n{"text": null}'
    yield gzip.compress(b'{"text": "a b"}\n' * 99, mtime=0)


def cell_seeds(_):
    yield b'text,words\n"a ""b""\nc",d\n\n"",e"f"\r\n"gh",'
    yield b'\xef\xbb\xbf"a.b",text\r\r\n1,"2\n3,"4"\n'
    yield bz2.compress(b"id,text\n" + b"1,a b\n" * 99)


def run_seeds(folder):
    origins = {**dict.fromkeys(config.FIELDS, "default"), "options": {}}
    asked = fit_request.FitRequest(["text"], {"window": "3"}, "vectors.txt", origins=origins)
    settings = {**vars(config.Settings()), "alpha": 0.025}
    begun = Config.new("/", vars(asked), settings)
    begun.written |= {"/v": [1, 2, 3], "/log": [4]}
    write_config(folder, begun)
    yield (folder / checkpointing.CONFIG).read_bytes()


def result_seeds(_):
    figures = {"perplexity": 9.5, "unnormalized": 9.0, "bits": 3.2, "log_z_mean": 0.0, "log_z_variance": 0.0}
    found = {
        "job": vars(TRIAL),
        "epochs": [], "corpus_words": 3, "curve": [{"seconds": 1.5, "perplexity": 9.5}],
        "seconds": {"training": 1.5},
        "words_per_second": 2.0, "words_per_cpu_second": 2.0, "output_parameters": 21, "peak_memory_bytes": 1 << 20,
        "versions": {}, "vocabulary": 7, "width": 3, "scores": {"analogies": 0.5},
        "scoring": {"per_second": 10.0, "reference": 9.0, "ratios": [1.1], "same": True},
        "test": {**figures, "examples": 100, "coverage": 0.9},
    }  # fmt: skip
    yield json.dumps(found).encode()
    yield json.dumps({"job": vars(TRIAL), "failed": "diverged", "exit_code": 76}).encode()


LOADERS = {
    "text": Loader(read_vectors, text_seeds),
    "binary": Loader(read_vectors, binary_seeds),
    "arrays": Loader(read_beside, array_seeds("npy", "npz")),
    "vocabulary": Loader(vocabulary.Vocabulary.load, vocabulary_seeds),
    "model": Loader(read_model, model_seeds),
    "fasttext": Loader(read_model, fasttext_seeds),
    "keyed": Loader(read_keyed, keyed_seeds),
    "state": Loader(read_state, state_seeds),
    "settings": Loader(read_settings, settings_seeds),
    "questions": Loader(read_questions, question_seeds),
    "pairs": Loader(read_pairs, pair_seeds),
    "topics": Loader(read_topics, topic_seeds),
    "categories": Loader(read_categories, category_seeds),
    "tree": Loader(read_tree, tree_seeds),
    "classes": Loader(read_word_classes, class_seeds),
    "compressed": Loader(read_compressed, compressed_seeds),
    "cells": Loader(partial(read_column, ".csv"), cell_seeds),
    "records": Loader(partial(read_column, ".jsonl"), record_seeds),
    "run": Loader(read_run, run_seeds),
    "result": Loader(read_result, result_seeds),
}


def watch(atheris):
    """Make the fuzzer record which branches our readers take; functions compiled by Numba are not instrumented."""
    for module in MODULES:
        for value in vars(module).values():
            if getattr(value, "__module__", None) != module.__name__:
                continue
            for found in vars(value).values() if inspect.isclass(value) else [value]:
                plain = getattr(found, "fget", None) or getattr(found, "__func__", found)
                if isinstance(plain, FunctionType):
                    atheris.instrument_func(inspect.unwrap(plain))


def mutated(mutate, data, longest, seed):
    """Change bytes anywhere, or replace one token of text; the header of a safetensors file counts as text, too."""
    rng = random.Random(seed)
    spans = [found.span() for found in TOKEN.finditer(data)]
    if not spans or rng.random() < 0.5:
        return mutate(data, longest)
    start, end = rng.choice(spans)
    value = rng.choice(VALUES)
    changed = data[:start] + value + data[end:]
    if model_file.MODEL.sniff(data, True) and 8 <= start < 8 + (length := struct.unpack("<Q", data[:8])[0]):
        changed = struct.pack("<Q", max(0, length + len(value) - (end - start))) + changed[8:]
    return changed[:longest]


def fuzz(read, flags):
    """Fuzz a reader in this process, which libFuzzer ends."""
    import resource  # like atheris, not available on every platform

    import atheris

    path = Path("input")  # random names would end up in the fuzzer's dictionary
    before = resource.getrlimit(resource.RLIMIT_AS)

    def allow_more():
        """Raise the memory limit: in ten minutes, the fuzzer itself grows by as much as an input may take."""
        size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, before[1]))

    inputs = itertools.count(1)

    def one_input(data):
        if next(inputs) % 1000 == 0:
            allow_more()
        path.write_bytes(data)
        try:
            refused(read, path)
        except BaseException:
            resource.setrlimit(resource.RLIMIT_AS, before)  # reporting the error takes memory, too
            raise

    # libFuzzer calls exit() with the GIL held. That waits for pyarrow's threads, one of which may wait for the GIL.
    libc = ctypes.CDLL(None)
    libc.on_exit(ctypes.cast(libc._exit, ctypes.c_void_p), None)
    allow_more()
    atheris.Setup([sys.argv[0], *flags], one_input, custom_mutator=lambda *about: mutated(atheris.Mutate, *about))
    atheris.Fuzz()


def start(loaders, flags, corpus=None, artifacts=Path()):
    """Create the seeds and fuzz in another process, one loader after the other; return what subprocess.run returns."""
    with tempfile.TemporaryDirectory() as made_here:
        for loader in loaders:
            seeds = Path(made_here, loader, "seeds")
            seeds.mkdir(parents=True)
            inputs = [*LOADERS[loader].seeds(seeds), *(path.read_bytes() for path in attacks_on(loader))]
            for number, data in enumerate(inputs):
                if len(data) <= LONGEST:
                    (seeds / f"{number:03}").write_bytes(data)
        flags = [f"-max_len={LONGEST}", f"-timeout={SLOWEST}", f"-artifact_prefix={artifacts.resolve()}/", *flags]
        command = [sys.executable, "-W", "error", __file__, *loaders, "--inside", made_here, *flags]
        command += ["--corpus", str(corpus.resolve())] if corpus else []
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        return subprocess.run(
            command,
            cwd=made_here,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def fuzz_each(loaders, folder, flags):
    """Fuzz each loader in a process of its own, forked from this one, so that all import the package only once."""
    import atheris

    for loader in loaders:  # so that imports and compilation do not count
        os.chdir(folder / loader)
        for seed in sorted(Path("seeds").iterdir()):
            Path("input").write_bytes(seed.read_bytes())
            refused(LOADERS[loader].read, Path("input"))
    watch(atheris)  # last, because Numba cannot compile an instrumented function
    for loader in loaders:
        print(f"{loader}:", flush=True)
        process = os.fork()
        if not process:
            os.chdir(folder / loader)
            fuzz(LOADERS[loader].read, flags)
        if code := os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
            sys.exit(f"{loader}: exit code {code}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loaders", choices=LOADERS, nargs="+", metavar="loader", help=", ".join(LOADERS))
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--corpus", type=Path, help="folder of initial inputs, to which new inputs are added")
    parser.add_argument("--artifacts", type=Path, default=Path(), help="folder for inputs that fail")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options, flags = parser.parse_known_args()
    if options.inside:
        corpus = [str(options.corpus)] if options.corpus else []
        fuzz_each(options.loaders, options.inside, [*flags, *corpus, "seeds"])
        sys.exit()
    done = start(options.loaders, [f"-max_total_time={options.seconds}", *flags], options.corpus, options.artifacts)
    print(done.stdout)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
