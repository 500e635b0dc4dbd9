"""Run gensim's own tests with w2vtrain's classes in place of gensim's: `python tests/gensim_suite.py [MODULE ...]`.

The tests are those of the installed gensim; none is copied. Each prints a line if it fails, and the exit code is 1 if
any but those in EXPECTED fails, or if one of those passes. A suite for another module of gensim's tests is an entry in
REPLACEMENTS, and its failures are entries in EXPECTED.
"""

import argparse
import contextlib
import importlib
import io
import logging
import subprocess
import sys
import tempfile
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import w2vtrain


def load_word2vec_format(cls: Any, fname: str, binary_chunk_size: int = 0, **options: Any) -> Any:
    """Stand in for gensim's private function. The block size is not an option of ours."""
    return cls.load_word2vec_format(fname, **options)


KEYED = {
    "gensim.models.KeyedVectors": lambda: w2vtrain.KeyedVectors,
    "gensim.models.keyedvectors.KeyedVectors": lambda: w2vtrain.KeyedVectors,
    "gensim.models.keyedvectors._load_word2vec_format": lambda: load_word2vec_format,
}
WORD2VEC = {
    **KEYED,
    "gensim.models.Word2Vec": lambda: w2vtrain.Word2Vec,
    "gensim.models.word2vec.Word2Vec": lambda: w2vtrain.Word2Vec,
    "gensim.models.word2vec.LineSentence": lambda: w2vtrain.LineSentence,
    "gensim.models.word2vec.PathLineSentences": lambda: w2vtrain.PathLineSentences,
}
FASTTEXT = {
    **WORD2VEC,
    "gensim.models.FastText": lambda: w2vtrain.FastText,
    "gensim.models.fasttext.FastText": lambda: w2vtrain.FastText,
    "gensim.models.fasttext.FastTextKeyedVectors": lambda: w2vtrain.FastTextKeyedVectors,
    "gensim.models.fasttext.load_facebook_model": lambda: w2vtrain.load_facebook_model,
    "gensim.models.fasttext.load_facebook_vectors": lambda: w2vtrain.load_facebook_vectors,
    "gensim.models.fasttext.save_facebook_model": lambda: w2vtrain.save_facebook_model,
}
DOC2VEC = {
    **WORD2VEC,
    "gensim.models.Doc2Vec": lambda: w2vtrain.Doc2Vec,
    "gensim.models.doc2vec.Doc2Vec": lambda: w2vtrain.Doc2Vec,
    "gensim.models.doc2vec.TaggedDocument": lambda: w2vtrain.TaggedDocument,
    "gensim.models.doc2vec.TaggedLineDocument": lambda: w2vtrain.TaggedLineDocument,
    "gensim.models.doc2vec.TaggedBrownCorpus": lambda: w2vtrain.TaggedBrownCorpus,
}
REPLACEMENTS: dict[str, dict[str, Callable[[], Any]]] = {
    "test_keyedvectors": KEYED,
    "test_word2vec": WORD2VEC,
    "test_fasttext": FASTTEXT,
    "test_doc2vec": DOC2VEC,
}
"""For each module of gensim.test, what is replaced before it is imported: full names, and functions that return the
replacements."""
PICKLE = "loads a pickle, and pickles are never opened"
NO_NGRAM = "a word without a known n-gram is an error, not a vector of zeros"
ONE_LOSS = "trains with hs and negative at once; fastText's format has one loss"
CHANCE = {"test_word2vec.TestWord2VecModel.test_evaluate_word_analogies"}
"""Tests that pass on some processors only: this one expects that 3CosAdd and 3CosMul answer equally many questions
right. A text of 300 lines teaches almost none of them."""
EXPECTED = {
    "test_keyedvectors.Gensim320Test.test": PICKLE,
    "test_word2vec.TestWord2VecModel.test_load_old_model": PICKLE,
    "test_word2vec.TestWord2VecModel.test_load_old_model_separates": PICKLE,
    "test_word2vec.TestWord2VecModel.test_load_old_models_1_x": PICKLE,
    "test_word2vec.TestWord2VecModel.test_load_old_models_2_x": PICKLE,
    "test_word2vec.TestWord2VecModel.test_load_old_models_3_x": PICKLE,
    "test_word2vec.TestWord2VecModel.test_persistence_backwards_compatible": PICKLE,
    "test_word2vec.TestWord2VecModel.test_vocab": "words have no attribute for their Huffman code",
    "test_fasttext.HashCompatibilityTest.test_compatibility_true": PICKLE,
    "test_fasttext.NativeTrainingContinuationTest.test_no_ngrams": NO_NGRAM,
    "test_fasttext.NativeTrainingContinuationTest.test_sanity": "reads cum_table, an internal table of gensim",
    "test_fasttext.SaveFacebookFormatModelTest.test_cbow": ONE_LOSS,
    "test_fasttext.SaveFacebookFormatModelTest.test_skipgram": ONE_LOSS,
    "test_fasttext.TestFastTextModel.test_contains": "`in` says whether a word was in the vocabulary",
    "test_fasttext.TestFastTextModel.test_estimate_memory": "only the rows of buckets that occur take memory",
    "test_fasttext.TestFastTextModel.test_load_model_non_utf8_encoding": "n-grams are bytes of UTF-8",
    "test_fasttext.TestFastTextModel.test_persistence": NO_NGRAM,
    "test_fasttext.TestFastTextModel.test_persistence_fromfile": NO_NGRAM,
    "test_fasttext.TestFastTextModel.test_training": NO_NGRAM,
}
"""The tests that fail, as MODULE.CLASS.TEST, and why."""


class Results(unittest.TestResult):
    """Collects the outcome of each test: "" if it passed, "skipped: REASON", or its error in one line."""

    def __init__(self) -> None:
        super().__init__(io.StringIO(), False, 0)
        self.outcomes: dict[str, str] = {}

    def _set(self, test: Any, outcome: str) -> None:
        name = test.id() if isinstance(test, unittest.TestCase) else str(test)
        self.outcomes[name.removeprefix("gensim.test.")] = outcome

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        self._set(test, "")

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self._set(test, f"skipped: {reason}")

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self._set(test, " ".join(f"{err[0].__name__}: {err[1]}".split()))

    addFailure = addError  # noqa: N815

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self.addError(test, err)


def run(module: str) -> dict[str, str]:
    """Return the outcome of each test of gensim.test.MODULE; see `Results`. This process is then of no other use."""
    importlib.import_module("gensim.models")
    for name, replacement in REPLACEMENTS[module].items():
        home, _, attribute = name.rpartition(".")
        setattr(importlib.import_module(home), attribute, replacement())
    results = Results()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.lastResort = None  # otherwise, warnings about tiny texts hide the results
        tempfile.tempdir = folder  # where gensim's tests put their files
        unittest.defaultTestLoader.loadTestsFromName(f"gensim.test.{module}").run(results)
        tempfile.tempdir = None
    # A module may import the test cases of another.
    return {name: outcome for name, outcome in results.outcomes.items() if name.startswith(f"{module}.")}


def surprises(outcomes: dict[str, str], module: str) -> Iterator[str]:
    """Yield a line for each test of a module whose outcome is not the expected one."""
    expected = {name for name in EXPECTED if name.startswith(f"{module}.")}
    failed = {name for name, outcome in outcomes.items() if outcome and not outcome.startswith("skipped: ")} - CHANCE
    yield from (f"{name} fails: {outcomes[name]}" for name in sorted(failed - expected))
    yield from (f"{name} does not fail: remove it from EXPECTED" for name in sorted(expected - failed))


def main() -> int:
    """Run the modules that the command line names, or all, and print the failures and the number of passes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=" or ".join(REPLACEMENTS))
    modules = parser.parse_args().modules or list(REPLACEMENTS)
    if len(modules) > 1:  # each needs a process of its own
        return int(any(subprocess.run([sys.executable, __file__, name], check=False).returncode for name in modules))
    (module,) = modules
    outcomes = run(module)
    for name, outcome in outcomes.items():
        if outcome:
            print(f"{name}: {outcome}" + (f" [{EXPECTED[name]}]" if name in EXPECTED else ""))
    print(f"{module}: {sum(not outcome for outcome in outcomes.values())} of {len(outcomes)} tests passed")
    found = list(surprises(outcomes, module))
    print(*found, sep="\n", end="\n" * bool(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
