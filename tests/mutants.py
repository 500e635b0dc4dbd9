"""Break the package in many ways, one at a time, and check that the suite notices each: `make mutants`.

    python tests/mutants.py [NAME OR FOLDER ...]

A mutant is a plausible bug: a check that was forgotten, a sign, the last block left out. Each is applied to a copy of
the tracked files, and the tests that its entry names run on that copy; first, they must pass without it. The exit code
is 1 if any mutant survives or cannot be applied. pytest does not collect this file, and CI does not run it.

To port an entry after its code has moved: set `file` to the new place, and copy into `old` as little of the new text as
occurs there exactly once; `new` is the same bug in that text. If the tests have moved, name the new ones: any test that
fails because of the bug will do, the cheapest is best. Delete an entry only if the code that it breaks is gone.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COMPILED = ("kernels", "text", "probability", "objectives", "architectures", "engines")
"""Folders whose sources are part of the name of every kernel in the cache: see w2vtrain/kernels/jit.py."""
TIMEOUT_SECONDS = 600.0
"""A mutant whose tests take longer counts as killed."""
FIRST = "import sys\nsys.path.insert(0, {!r})\n"
"""The sitecustomize.py of a copy: of all folders with the package, Python searches the copy first, in every process."""


class Mutant(NamedTuple):
    """A bug: `old` in w2vtrain/FILE becomes `new`. tests: the tests that notice it, relative to tests/."""

    name: str
    file: str
    old: str
    new: str
    tests: str

    @property
    def folder(self) -> str:
        """The folder of the package, or the name of a module that is in none."""
        return Path(self.file).with_suffix("").parts[0]

    def ids(self) -> list[str]:
        """Return the tests as arguments for pytest."""
        return [f"tests/{test}" for test in self.tests.split()]

    def problem(self) -> str | None:
        """Return why this mutant cannot be applied, or None."""
        path = ROOT / "w2vtrain" / self.file
        if not path.exists():
            return f"there is no w2vtrain/{self.file}"
        count = path.read_text(encoding="utf-8").count(self.old)
        return None if count == 1 else f"{self.old!r} occurs {count} times in w2vtrain/{self.file}"

    def apply(self, copy: Path) -> None:
        """Break a copy of the project."""
        path = copy / "w2vtrain" / self.file
        path.write_text(path.read_text(encoding="utf-8").replace(self.old, self.new), encoding="utf-8")


MUTANTS = (
    # system
    Mutant(
        "sync-of-written-file", "system/files.py", "raw.sync()", "raw.flush()",
        "system/test_files.py::test_data_and_folder_are_synced_before_and_after_the_rename",
    ),
    Mutant(
        "mode-of-replaced-file", "system/files.py", "stat.S_IMODE(old.st_mode)", "0o644",
        "system/test_files.py::test_an_existing_file_needs_force_and_keeps_its_mode",
    ),
    Mutant(
        "limit-of-expansion", "system/reading.py", "given > justified(source.size, allowed)",
        "given > justified(len(piece), allowed)", "system/test_reading.py",
    ),
    Mutant(
        "end-of-compressed-data", "system/compression.py", "    if decoder is not None:\n",
        "    if decoder is not None and not offset:\n",
        "system/test_compression.py::test_all_readers_report_the_same_damage_with_the_same_message",
    ),
    Mutant(
        "file-that-all-can-write", "system/trust.py", "status.st_mode & stat.S_IWOTH",
        "status.st_mode & stat.S_IXOTH",
        "kernels/test_jit.py",
    ),
    # kernels
    Mutant(
        "sum-of-columns-beyond-vectors", "kernels/rows.py", "    add_column = adder(scale)",
        "    add_column = adder(ir.Constant(scale.type, 1.0))", "kernels/test_rows.py",
    ),
    Mutant(
        "sign-of-synchronization", "kernels/rows.py", "hot.own[r, c] - hot.start[r, c]",
        "hot.start[r, c] - hot.own[r, c]", "kernels/test_hot_rows.py",
    ),
    Mutant(
        "last-of-shifted-range", "kernels/rows.py", "builder.icmp_unsigned(\"<\"", "builder.icmp_unsigned(\"<=\"",
        "kernels/test_indices.py",
    ),
    Mutant(
        "largest-logit-beyond-vectors", "kernels/logits.py", "        if logits[row, j] > top:",
        "        if logits[row, j] < top:", "probability/test_dense.py",
    ),
    Mutant(
        "digest-of-machine-code", "kernels/jit.py", "if hashlib.sha256(data).digest() != digest:", "if not digest:",
        "kernels/test_jit.py::test_cache_file_that_is_damaged_or_that_others_can_write_is_compiled_again[damage]",
    ),
    # formats
    Mutant(
        "last-block-of-rows", "formats/safetensors.py", "for start in range(0, rows, step):",
        "for start in range(0, max(1, rows - step + 1), step):",
        "formats/test_vectors.py::test_vectors_in_many_blocks_are_read_back_unchanged",
    ),
    Mutant(
        "mean-row", "formats/transforms.py", "return mean / len(matrix)",
        "return mean / (len(matrix) - 1)",
        "formats/test_transforms.py::test_centering_subtracts_the_mean",
    ),
    Mutant(
        "promised-rows", "formats/vector_formats/rows.py", "if rows is not None and not lenient:",
        "if rows is not None and lenient:", "formats/test_vectors.py formats/test_attacks.py",
    ),
    Mutant(
        "repeated-word-in-vectors", "formats/vector_formats/rows.py", "elif word in self._seen:",
        "elif word in self.words[-1:]:", "formats/test_vectors.py",
    ),
    # embeddings
    Mutant(
        "ranks-of-ties", "embeddings/similarity.py", "(last - (counts - 1) / 2)", "(last - counts + 1.0)",
        "embeddings/test_similarity.py",
    ),
    Mutant(
        "direction-of-analogy", "embeddings/analogies.py", "unit[b] - unit[a] + unit[c]", "unit[a] - unit[b] + unit[c]",
        "embeddings/test_analogies.py",
    ),
    Mutant(
        "rows-of-later-blocks", "embeddings/neighbors.py", "better + first]", "better]", "embeddings/test_neighbors.py",
    ),
    Mutant(
        "answers-besides-the-query", "embeddings/keyed_vectors.py", "best = largest(scores, topn + len(excluded))",
        "best = largest(scores, topn)", "embeddings/test_keyed_vectors_queries.py",
    ),
    # text
    Mutant(
        "words-of-the-least-count", "text/vocabulary.py", "counts >= max(1, min_count)", "counts > max(1, min_count)",
        "text/test_vocabulary.py",
    ),
    Mutant(
        "sentence-across-blocks", "text/word_table.py", "state[OPEN] = open_words", "state[OPEN] = 0",
        "text/test_encoded.py",
    ),
    Mutant(
        "ids-after-the-sentence-end", "text/encoded.py", "slice_ += slice_ >= place", "slice_ += slice_ > place",
        "training/test_predictor.py::test_sentence_end_counts_sentences_and_shifts_later_ids",
    ),
    # probability
    Mutant(
        "subsampling", "probability/subsampling.py", "(np.sqrt(share) + 1) / share", "np.sqrt(share) / share",
        "probability/test_sampling.py::test_subsampling_agrees_with_the_formula_of_word2vec_c",
    ),
    Mutant(
        "ties-of-huffman", "probability/trees.py", "weight[leaf] < weight[inner]", "weight[leaf] <= weight[inner]",
        "probability/test_trees.py::test_huffman_codes_agree_with_word2vec_c",
    ),
    Mutant(
        "half-of-a-pool", "probability/noise_pool.py", "uint64(len(words) - 1)", "uint64(len(words) - 2)",
        "probability/test_pools.py::test_all_words_of_a_pool_are_drawn_equally_often",
    ),
    Mutant(
        "penalty-beyond-its-bound", "probability/dense.py", "reached**2 / (2 *", "reached**2 / (",
        "objectives/test_selfnorm.py",
    ),
    # objectives
    Mutant(
        "noise-that-is-the-target", "objectives/neg.py", "if word != target:", "if word >= 0:",
        "objectives/test_neg.py::test_noise_words_exclude_the_target_with_neg_but_not_with_nce",
    ),
    Mutant(
        "number-of-noise-words", "objectives/nce.py", "np.log(negative * noise)", "np.log(noise)",
        "objectives/test_neg.py::test_noise_words_exclude_the_target_with_neg_but_not_with_nce",
    ),
    Mutant(
        "turns-of-the-saved-tree", "objectives/hs.py", "(1 - (self.path & 1))", "(self.path & 1)",
        "objectives/test_hs.py::test_options_select_the_tree",
    ),
    Mutant(
        "gradient-of-bias-in-bands", "objectives/dsoftmax.py", "dH[:, H.shape[1] - self.bias :] +=",
        "dH[:, H.shape[1] - self.bias :] =", "objectives/test_dsoftmax.py",
    ),
    Mutant(
        "draws-of-one-word", "objectives/blackout.py", "1 / np.maximum(times, 1)", "1 / np.maximum(times * 0, 1)",
        "objectives/test_blackout.py",
    ),
    Mutant(
        "effective-sample-size", "objectives/is.py", "inverse[few] * self.ess > 1", "inverse[few] * self.ess < 1",
        "objectives/test_importance.py",
    ),
    # architectures
    Mutant(
        "gradient-of-mean", "architectures/cbow_corrected.py", "step / float32(window.n)", "step",
        "engines/test_examples.py::test_rows_and_arrays_learn_the_same_as_in_the_reference",
    ),
    Mutant(
        "positions-before-the-target", "architectures/vlbl.py", "left - 1 - i if i < left", "i if i < left",
        "engines/test_examples.py::test_hidden_vectors_equal_those_of_the_reference",
    ),
    Mutant(
        "rate-scale-of-wide-sums", "architectures/contract.py", "min(1.0, FULL_RATE_WORDS / n)",
        "max(1.0, FULL_RATE_WORDS / n)",
        "training/test_wide_windows.py::test_long_sums_learn_at_a_lower_rate_in_wide_windows",
    ),
    # engines
    Mutant(
        "weight-of-shared-noise", "engines/window_kernel.py", "rate = lr * float32(size)", "rate = lr",
        "engines/test_tags.py",
    ),
    Mutant(
        "last-context-word", "engines/window_kernel.py", "min(length - 1, position + reach)",
        "min(length - 2, position + reach)",
        "engines/test_window_engine.py::test_gather_context_copies_the_words_within_reach_on_each_side",
    ),
    Mutant(
        "last-synchronization", "engines/window_kernel.py", "% scratch.sync_every == 0 or k == len(order) - 1",
        "% scratch.sync_every == 0",
        "kernels/test_hot_rows.py::test_either_of_two_threads_learns_the_same_as_a_single_thread",
    ),
    Mutant(
        "decay-of-biases", "engines/block_engine.py", "array.shape[1] - self.problem.bias", "array.shape[1]",
        "training/test_predictor.py::test_weight_decay_shrinks_every_row_but_no_bias",
    ),
    Mutant(
        "record-of-the-last-epoch", "training/record.py", "[*records[:-1:2], records[-1]]", "[*records[:-1:2]]",
        "training/test_run_record.py::test_epoch_records_are_bounded_and_keep_the_first_and_the_last",
    ),
    Mutant(
        "threshold-of-a-word", "engines/window_kernel.py", "<= keep[word])", "<= keep[tokens[position]])",
        "engines/test_window_engine.py::test_read_sentence_stops_at_sentence_ends_and_drops_words",
    ),
    # training
    Mutant(
        "checkpoints-kept", "training/checkpoint_file.py", "KEPT_CHECKPOINTS = 2", "KEPT_CHECKPOINTS = 1",
        "training/test_checkpoint_file.py::test_the_newest_two_checkpoints_are_kept_and_the_newest_is_read",
    ),
    Mutant(
        "sync-of-folder", "system/files.py", "        sync_folder(target.parent)\n", "        pass\n",
        "training/test_disks.py::test_a_saved_checkpoint_survives_a_power_loss",
    ),
    Mutant(
        "checksum-of-checkpoint", "training/checkpoint_file.py", "if digest != checksum(arrays, run, about):",
        "if not checksum(arrays, run, about):",
        "training/test_checkpoint_file.py::test_a_flipped_bit_is_always_detected",
    ),
    Mutant(
        "checkpoint-of-another-run", "training/checkpoint_file.py",
        "        if found.run == run:", "        if found.run:",
        "training/test_checkpoint_file.py::test_checkpoints_of_another_run_are_not_read",
    ),
    Mutant(
        "checkpoint-out-of-reach", "training/checkpoint_file.py",
        "        raise ReadError(\n", "        raise DataError(\n",
        "training/test_passing_errors.py",
    ),
    Mutant(
        "equal-perplexity", "training/early_stopping.py", "heldout.perplexity < self.lowest",
        "heldout.perplexity <= self.lowest",
        "training/test_early_stopping.py::test_patience_counts_the_epochs_since_the_best_one",
    ),
    Mutant(
        "rate-of-a-chunk", "training/epoch.py", "np.cumsum(words) - words)", "np.cumsum(words))",
        "training/test_trainer.py::test_every_chunk_is_learned_at_the_rate_of_its_position_in_the_run",
    ),
    Mutant(
        "full-windows-in-scoring", "training/perplexity.py", "windows._replace(shrink=False)", "windows",
        "training/test_perplexity.py::test_perplexity_agrees_with_the_naive_loop",
    ),
    # distributed
    Mutant(
        "longest-interval", "leaves/mpi/pace.py", "min(2 * self.chunks, self.longest)", "2 * self.chunks",
        "leaves/mpi/test_pace.py",
    ),
    Mutant(
        "rounding-to-a-byte", "leaves/mpi/row_kernels.py", "np.rint(values", "np.floor(values",
        "leaves/mpi/test_quantization.py",
    ),
    Mutant(
        "sum-of-own-rows", "leaves/mpi/quantized_sum.py", "own[...] = 0", "own[...] *= 1",
        "leaves/mpi/test_quantization.py::test_sum_errs_by_at_most_half_a_step_per_rank_and_is_equal_on_all",
    ),
    Mutant(
        "rows-that-are-due", "leaves/mpi/synchronization.py", "(number & -number)", "number",
        "leaves/mpi/test_synchronization.py",
    ),
    Mutant(
        "least-share", "leaves/mpi/synchronization.py", "1 / ranks, 1.0)", "0.0, 1.0)",
        "leaves/mpi/test_synchronization.py",
    ),
    Mutant(
        "class-of-an-agreed-error", "leaves/mpi/agreement.py", 'known.get(failure["class"]) or next(', "next(",
        "leaves/mpi/test_agreement.py",
    ),
    Mutant(
        "end-of-a-stretch", "text/text_files.py", "return at + newline + 1", "return at + newline + 2",
        "leaves/mpi/test_division.py",
    ),
    # evaluation
    Mutant(
        "point-at-the-limit", "leaves/compare/tradeoff.py", "point.seconds <= limit", "point.seconds < limit",
        "leaves/compare/test_tradeoff.py",
    ),
    Mutant(
        "distance-from-the-optimum", "leaves/compare/objective_checks.py", "MAX_KL_NATS = 0.015", "MAX_KL_NATS = 15.0",
        "leaves/compare/test_objective_checks.py::test_wrong_losses_of_a_window_objective_fail_only_what_it_learns",
    ),
    # pictures
    Mutant(
        "label-on-a-labels-point", "leaves/pictures/labels.py", "            used += 2\n", "            used += 1\n",
        "leaves/pictures/test_labels.py",
    ),
    Mutant(
        "progress-before-a-resume", "leaves/pictures/run_logs.py", "while progress and progress[-1][0].words >= words",
        "while progress and progress[-1][0].words < words", "leaves/pictures/test_run_logs.py",
    ),
    # compat
    Mutant(
        "mean-of-a-context", "leaves/gensim/scoring.py", "hidden = hidden / len(rows)", "hidden = hidden * len(rows)",
        "leaves/gensim/test_word2vec.py::test_predicted_words_follow_the_softmax_of_the_output_vectors",
    ),
    Mutant(
        "copy-of-a-claimed-model", "leaves/gensim/claim.py", '{**vars(self), "is_training": False, "_owner": None}',
        "{**vars(self)}", "leaves/gensim/test_claim.py::test_a_copy_that_a_callback_makes_can_be_trained",
    ),
    Mutant(
        "number-that-is-nan", "leaves/gensim/parameters.py", "not low <= value <= high or",
        "value < low or value > high or",
        "leaves/gensim/test_word2vec.py::test_parameters_out_of_range_are_named",
    ),
    # commands
    Mutant(
        "exit-code-of-a-full-disk", "commands/shell.py", "return 74,", "return 71,", "system/test_terminal.py",
    ),
    Mutant(
        "words-of-an-analogy", "commands/query.py", "[king, woman], [man]", "[king, man], [woman]",
        "commands/test_lookups.py::test_analogy_adds_the_first_and_the_third_word_and_subtracts_the_second",
    ),
    # modules in no folder
    Mutant(
        "options-of-a-replaced-objective", "config.py", "                options, of_options = {}, {}  # they belong",
        "                pass  # they belong",
        "test_config.py::test_options_are_dropped_if_a_later_source_names_another_objective",
    ),
    Mutant(
        "largest-number", "parsers.py", "self.low <= number <= self.high", "self.low <= number < self.high",
        "test_parsers.py",
    ),
    Mutant(
        "signed-bytes", "kernels/ngrams.py", "byte | uint32(0xFFFFFF00)", "byte",
        "kernels/test_ngrams.py::test_buckets_are_the_hashes_of_the_ngrams",
    ),
    Mutant(
        "mean-of-an-unseen-word", "formats/subwords.py", "np.float32(len(rows)) if total.any()",
        "np.float32((rows >= 0).sum()) if total.any()",
        "kernels/test_ngrams.py::test_the_vector_of_an_unseen_word_is_the_mean_over_its_ngrams",
    ),
    Mutant(
        "words-that-never-leave", "engines/window_kernel.py", "        settle(scratch.cache, matrices.input)\n", "",
        "engines/test_row_cache.py::test_the_window_engine_agrees_with_a_trainer_without_a_row_cache[skipgram-neg-bias]",
    ),
    Mutant(
        "slots-that-keep-their-start", "engines/row_cache.py", "cache.vectors[slot, c] - cache.entered[slot, c]",
        "cache.vectors[slot, c]",
        "engines/test_row_cache.py::test_the_window_engine_agrees_with_a_trainer_without_a_row_cache[skipgram-neg-bias]",
    ),
    Mutant(
        "rows-of-new-buckets", "training/warm_start.py",
        "theirs[self.old], theirs[rows[rows >= 0]]",
        "theirs[self.old], theirs[U : U + (rows >= 0).sum()]",
        "training/test_subword_runs.py::test_a_run_starts_from_the_rows_of_a_model_by_word_and_by_bucket",
    ),
    Mutant(
        "buckets-of-fasttext", "formats/fasttext_file.py", "rows[V + order[known]]", "rows[V:][known]",
        "formats/test_fasttext_file.py::test_a_model_that_is_written_reads_back_the_same",
    ),
    Mutant(
        "problems-of-a-class", "registry.py", "\"; \".join(filter(None, problems))",
        "next(filter(None, problems))",
        "test_registry.py::test_all_problems_of_a_class_are_reported_at_once",
    ),
    Mutant(
        "exit-code-of-missing-input", "errors.py", 'opened or read. Exit code 66."""\n\n    exit_code = 66',
        'opened or read. Exit code 66."""\n\n    exit_code = 65',
        "commands/test_cli.py::test_bad_or_missing_input_exits_with_65_or_66",
    ),
    # leaves/graphs
    Mutant(
        "excess-of-steps-back", "leaves/graphs/graph_kernels.py", "if level >= most:", "if level > most + excess:",
        "leaves/graphs/test_steps.py::test_visits_agree_with_exact_transition_probabilities",
    ),
    Mutant(
        "far-and-near", "leaves/graphs/graph_kernels.py", "(bias.far < 1.0) ==", "(bias.far > 1.0) ==",
        "leaves/graphs/test_steps.py::test_visits_agree_with_exact_transition_probabilities",
    ),
    Mutant(
        "rarer-node-of-a-pair", "leaves/graphs/graph_kernels.py", "low, high, target = first, last, source",
        "low, high = first, last", "leaves/graphs/test_steps.py::test_steps_next_to_a_hub_have_their_probabilities",
    ),
    Mutant(
        "weight-of-the-scanned-arc", "leaves/graphs/graph_kernels.py", "left -= weight_of(arcs, k, low) *", "left -=",
        "leaves/graphs/test_steps.py::test_visits_agree_with_exact_transition_probabilities",
    ),
    Mutant(
        "walks-of-each-epoch", "leaves/graphs/graph_kernels.py", "seed_stream(rng, seed, epoch, chunk)",
        "seed_stream(rng, seed, 0, chunk)",
        "leaves/graphs/test_training_on_walks.py::test_a_chunk_has_the_same_walks_whichever_chunks_are_read_with_it",
    ),
    Mutant(
        "order-of-chunks-read", "leaves/graphs/walks.py", "np.sort(order)", "order",
        "leaves/graphs/test_training_on_walks.py::test_a_chunk_has_the_same_walks_whichever_chunks_are_read_with_it",
    ),
    Mutant(
        "graph-of-a-resumed-run", "leaves/graphs/walks.py", "value = zlib.crc32(array.data, value)",
        "value = zlib.crc32(array.data[:1], value)",
        "leaves/graphs/test_training_on_walks.py::test_a_run_stopped_in_an_epoch_resumes_to_the_same_bytes",
    ),
)  # fmt: skip


@contextmanager
def copied() -> Iterator[Path]:
    """Copy the tracked files to a folder, in which a process that `environment` describes finds the package."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder).resolve()
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy / name)
        (copy / "sitecustomize.py").write_text(FIRST.format(str(copy)), encoding="utf-8")
        yield copy


def environment(copy: Path, folder: str = "") -> dict[str, str]:
    """Return the environment of a process that imports the copy; folder: that of the mutant.

    The kernels of this checkout are used, unless the mutant is in the sources of kernels.
    """
    cache = ROOT / "w2vtrain/__pycache__"
    own = {} if folder in COMPILED or not cache.exists() else {"NUMBA_CACHE_DIR": str(cache)}
    return {**os.environ, **own, "PYTHONPATH": str(copy)}


def pytest(arguments: list[str], copy: Path, folder: str = "") -> tuple[int, str]:
    """Run pytest on a copy. Return its exit code, None if it took too long, and what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments]
    process = subprocess.Popen(
        command, cwd=copy, env=environment(copy, folder), text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        text, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
        return 1, f"{text}\nFAILED time limit\n"
    return process.returncode, text


def check_import() -> None:
    """End the program unless all ways to start Python import the copy, also where the package is installed."""
    with copied() as copy:
        package = copy / "w2vtrain/__init__.py"
        package.write_text(package.read_text(encoding="utf-8") + "\nprint(__file__)\n", encoding="utf-8")
        script = str(Path(sys.executable).with_name("w2vtrain"))
        for command in ([sys.executable, "-m", "w2vtrain", "--version"], [script, "--version"]):
            done = subprocess.run(command, cwd="/", env=environment(copy), capture_output=True, text=True, check=False)
            if str(package) not in done.stdout:
                sys.exit(f"{' '.join(command)} does not import the copy in {copy}: {done.stdout}{done.stderr}")


def failing(mutants: list[Mutant]) -> set[str]:
    """Run the tests of all mutants without any. Return those that fail; end the program if one does not exist."""
    ids = list(dict.fromkeys(name for mutant in mutants for name in mutant.ids()))
    with copied() as copy:
        code, text = pytest(ids, copy)
    if code not in (0, 1):
        sys.exit(f"{text[-4000:]}\nThe tests of the mutants cannot be run: see above")
    return set(re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.M))


def verdict(mutant: Mutant, broken: set[str]) -> str:
    """Apply a mutant to a copy, run its tests, and return the verdict."""
    if problem := mutant.problem():
        return f"BROKEN: {problem}"
    if bad := [name for name in broken if name.startswith(tuple(mutant.ids()))]:
        return f"BROKEN: without the mutant, {bad[0]} fails"
    with copied() as copy:
        mutant.apply(copy)
        code, text = pytest(["-x", *mutant.ids()], copy, mutant.folder)
    if code == 0:
        return "SURVIVED"
    # An error without the name of a test is a module that could not be imported, which shows nothing about the tests.
    found = re.search(r"^(?:FAILED|ERROR) (\S+::.*|time limit)", text, re.M)
    return f"killed by {found[1].partition(' - ')[0]}" if found else f"BROKEN: pytest ends with {code}: {text[-400:]}"


def selected(names: list[str]) -> list[Mutant]:
    """Return the mutants with these names, or in these folders; all if there are none."""
    known = {name for mutant in MUTANTS for name in (mutant.name, mutant.folder)}
    if unknown := set(names) - known:
        sys.exit(f"no mutant or folder {', '.join(sorted(unknown))}: use any of {', '.join(sorted(known))}")
    return [mutant for mutant in MUTANTS if not names or {mutant.name, mutant.folder} & set(names)]


def main(names: list[str]) -> int:
    """Try mutants, print one line per mutant, and return the exit code."""
    mutants = selected(names)
    check_import()
    broken = failing(mutants)
    verdicts = []
    for mutant in mutants:
        started = time.monotonic()
        verdicts.append(verdict(mutant, broken))
        print(f"{mutant.folder}/{mutant.name}: {verdicts[-1]} ({time.monotonic() - started:.0f} s)", flush=True)
    killed = sum(text.startswith("killed") for text in verdicts)
    print(f"{killed} of {len(mutants)} mutants killed, {verdicts.count('SURVIVED')} survived")
    return int(killed < len(mutants))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
