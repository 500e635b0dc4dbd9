"""Options and commands of word2vec.c, fastText, gensim and others, and what replaces each here: one table.

A setting of ours is known by its name alone, as messages spell it. This module parses no command line.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from w2vtrain.errors import in_shell, spelled


class Ours(NamedTuple):
    """What replaces an option of another program.

    name: our setting, with underscores; values: our values by theirs, None if they are the same; python: what to do in
    Python, if `train` has no such parameter.
    """

    name: str
    values: Mapping[str, Any] | None = None
    python: str = ""

    def hint(self) -> str:
        """Return the advice for a message: our setting, with its value for the first of theirs, and for others."""
        if self.python and not in_shell():
            return self.python
        if self.values is None:
            return f"use {spelled(self.name)}"
        (_, first), *rest = self.values.items()
        return f"use {spelled(self.name, first)}" + "".join(
            f", or {ours if in_shell() else repr(ours)}" + f" for {theirs}" * (theirs != ours) for theirs, ours in rest
        )


OBJECTIVES = {
    "class-based-softmax": "class-softmax",
    "differentiated-softmax": "dsoftmax",
    "full": "softmax",
    "full-softmax": "softmax",
    "hierarchical": "hs",
    "hierarchical-softmax": "hs",
    "importance-sampling": "is",
    "infrequent-normalization": "infrequent-norm",
    "negative": "neg",
    "negative-sampling": "neg",
    "noise-contrastive-estimation": "nce",
    "ns": "neg",
    "sampled": "sampled-softmax",
    "self-normalization": "selfnorm",
    "sgns": "neg",
    "target-sampling": "target",
}
ARCHITECTURES = {"sg": "skipgram", "skip-gram": "skipgram"}
OTHER_NAMES: dict[str, Mapping[str, str]] = {"objective": OBJECTIVES, "architecture": ARCHITECTURES}
"""The names of objectives and architectures in papers and other programs, each with ours, which it stands for."""

NO_CLASSES = "w2vtrain trains word vectors, not classifiers"
IN_MEMORY = "train reads sentences once, whatever the number of epochs; leave it out"
RETURNS = "train returns a model and writes no file; pass its words and vectors() to write_vectors"
CORPUS = Ours("corpus", python="pass the text as the first argument")
LOWER = Ours("tokenizer", {"1": "simple"})
ITSELF = "w2vtrain decides this itself; leave it out"
CORES = "w2vtrain trains on the cores of the processor, not on a GPU; leave it out"
WEIGHTS = "edges have weights if each has a third field; leave it out"
WALKS = "pass w2vtrain.Walks(EDGES), which has it, as the first argument"
FURTHER = "use continue_training(model, corpus), which has it"
IN_SHELL = {
    "cache_dir": "set the environment variable TMPDIR",
    "documents": "pass w2vtrain.Documents(FILE) as the first argument",
    "export": "use the model's vectors(export)",
    "graph": "pass w2vtrain.Walks(EDGES) as the first argument",
    "init_from": "use continue_training(model, corpus)",
    "log_json": "use events, which report what a log has",
    "quiet": "train prints nothing unless progress=True; leave it out",
    "read_vocab": "use vocabulary",
    "save_model": "use the model's save(path)",
    "save_output_vectors": "use the model's `output`",
    "save_vocab": "use the model's words and counts",
    "tag": "pass w2vtrain.Documents(FILE, tag) as the first argument",
    **dict.fromkeys(("directed", "p", "q", "walk_length", "walks"), WALKS),
    **dict.fromkeys(("dtype", "force", "format", "output"), RETURNS),
    **dict.fromkeys(("freeze", "grow_vocabulary"), FURTHER),
}
"""What to do in Python instead of our options of the command line that `train` does not have."""
STOP_WORDS = "subsampling (sample) trains less on frequent words, and no word is left out as a stop word"
OPTIONS: dict[str, Ours | str] = {
    **{name: Ours(name, python=python) for name, python in IN_SHELL.items()},
    "batch_words": ITSELF,
    "binary": Ours("format", {"1": "binary", "0": "text"}, RETURNS),
    "cbow": Ours("architecture", {"1": "cbow", "0": "skipgram"}),
    "cbow_mean": Ours("architecture", {"1": "cbow", "0": "cbow-sum"}),
    "callbacks": "use w2vtrain.Word2Vec, which has callbacks",
    "classes": "w2vtrain does not cluster words; leave it out",
    "comment": "w2vtrain records the settings of each run; leave it out",
    "compute_loss": "w2vtrain always reports the loss; leave it out",
    "context_size": Ours("window"),
    "corpus": CORPUS,
    "corpus_file": CORPUS,
    "corpus_iterable": CORPUS,
    "cuda": CORES,
    "dbow_words": Ours("architecture", {"1": "pv-dbow-words", "0": "pv-dbow"}),
    "deterministic": Ours("threads", {"1": 1}),
    "device": CORES,
    "dimensions": Ours("vector_size"),
    "dm": Ours("architecture", {"1": "pv-dm", "0": "pv-dbow"}),
    "dm_concat": Ours("architecture", {"1": "pv-dm-concat"}),
    "dm_mean": Ours("architecture", {"1": "pv-dm", "0": "pv-dm-sum"}),
    "embedding_dim": Ours("vector_size"),
    "embedding_size": Ours("vector_size"),
    "end_alpha": Ours("min_alpha"),
    "epoch": Ours("epochs"),
    "eta": Ours("alpha"),
    "gpu": CORES,
    "hashfxn": ITSELF,
    "hs": Ours("objective", {"1": "hs", "0": "neg"}),
    "input": CORPUS,
    "label": NO_CLASSES,
    "learning_rate": Ours("alpha"),
    "loss": Ours("objective", {"ns": "neg", "hs": "hs", "softmax": "softmax"}),
    "lower": LOWER,
    "lowercase": LOWER,
    "lrUpdateRate": "the learning rate changes after every 1,000 words; leave it out",
    "max_features": Ours("max_vocab"),
    "max_final_vocab": Ours("max_vocab"),
    "max_vocab_size": Ours("max_vocab"),
    "max_n": Ours("maxn"),
    "minCount": Ours("min_count"),
    "minCountLabel": NO_CLASSES,
    "min_freq": Ours("min_count"),
    "min_n": Ours("minn"),
    "n_components": Ours("vector_size"),
    "n_jobs": Ours("threads"),
    "n_epochs": Ours("epochs"),
    "neg": Ours("negative"),
    "num_epochs": Ours("epochs"),
    "num_walks": Ours("walks", python="use w2vtrain.Walks, which has walks"),
    "num_workers": Ours("threads"),
    "number_walks": Ours("walks", python="use w2vtrain.Walks, which has walks"),
    "pretrainedVectors": Ours("init_from", python="use continue_training(vectors, corpus)"),
    "representation_size": Ours("vector_size"),
    "reread": IN_MEMORY,
    "processes": Ours("threads"),
    "random_seed": Ours("seed"),
    "random_state": Ours("seed"),
    "save_file": Ours("output", python=RETURNS),
    "saveOutput": Ours("save_output_vectors", python="use the model's `output`"),
    "sentences": CORPUS,
    "sg": Ours("architecture", {"1": "skipgram", "0": "cbow"}),
    "skipgram": Ours("architecture", {"1": "skipgram"}),
    "sorted_vocab": ITSELF,
    "start_alpha": Ours("alpha"),
    "stop_words": STOP_WORDS,
    "stopwords": STOP_WORDS,
    "subsample": Ours("sample"),
    "subsampling": Ours("sample"),
    "t": Ours("sample"),
    "thread": Ours("threads"),
    "total_examples": ITSELF,
    "total_words": ITSELF,
    "train": CORPUS,
    "trim_rule": "use w2vtrain.Word2Vec, which has trim_rule",
    "unweighted": WEIGHTS,
    "verbose": "w2vtrain has no levels of verbosity; leave it out",
    "vocab_file": Ours("read_vocab", python="use vocabulary"),
    "vocab_size": Ours("max_vocab"),
    "weighted": WEIGHTS,
    "window_size": Ours("window"),
    "wordNgrams": NO_CLASSES,
}
"""What replaces options and parameters that only other programs have, or our shell, by name; a text if nothing does."""
FITS = "use w2vtrain fit CORPUS -o FILE"
COMMANDS = {
    "analogies": "use w2vtrain analogy, or eval analogies for a file of questions",
    "cbow": f"{FITS} --architecture cbow",
    "compute-accuracy": "use w2vtrain eval analogies",
    "deepwalk": "use w2vtrain fit EDGES -o FILE --graph",
    "distance": "use w2vtrain neighbors",
    "dump": "use w2vtrain info",
    "doc2vec": f"{FITS} --documents",
    "evaluate": "use w2vtrain eval",
    "fasttext": f"{FITS} --subwords",
    "most-similar": "use w2vtrain neighbors",
    "nn": "use w2vtrain neighbors",
    "node2vec": "use w2vtrain fit EDGES -o FILE --graph",
    "pecanpy": "use w2vtrain fit EDGES -o FILE --graph",
    "predict": NO_CLASSES,
    "predict-prob": NO_CLASSES,
    "print-ngrams": "use w2vtrain vector --ngrams",
    "print-sentence-vectors": "use w2vtrain vector --sentences",
    "print-word-vectors": "use w2vtrain vector",
    "quantize": "use w2vtrain convert --restrict-vocab N to make vectors smaller",
    "skipgram": f"{FITS} --architecture skipgram",
    "supervised": NO_CLASSES,
    "test": NO_CLASSES,
    "train": FITS,
    "vectors": "use w2vtrain vector",
    "word-analogy": "use w2vtrain analogy, in another order: for king - man + woman, write king man woman",
    "word2phrase": "use w2vtrain phrases",
    "word2vec": FITS,
}
"""What to use instead of commands that only other programs have, by their names."""


def replaced(name: str) -> Ours | str | None:
    """Return the row of an option of another program, whose words are separated by hyphens or underscores, or None."""
    return OPTIONS.get(name) or OPTIONS.get(name.replace("-", "_"))


def hint_for(name: str) -> str | None:
    """Return what to use instead of an option of another program, or None if no program has one of this name."""
    ours = replaced(name)
    if ours == CORPUS and in_shell():
        return "name the text without an option: w2vtrain fit CORPUS -o FILE"
    return ours.hint() if isinstance(ours, Ours) else ours
