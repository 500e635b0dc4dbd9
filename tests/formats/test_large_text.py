"""Large text files, which compiled code parses, are read and refused as small ones are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.errors import DataError
from w2vtrain.formats.vector_formats import rows, text
from w2vtrain.formats.vectors import read_vectors

LINES = st.sampled_from(
    [
        "word{} 1 -2.5", "word{} 1e-05 3E4 ", "word{} .5 5.", "word{}\t1\t2", "word{}  1 2", "word{} 1 2\r",
        "word{} +1 2", "wörd{} 0.1 -0.0", "word{} 12345678901234567890 2", "word{} 1e-30 4e30",
        "word{} 0.1234567890123456789 2",
        "word{} 3.4028234663852886e+38 1.17549435e-38", "word{} 1e-45 1e-50", "{} 7 8", "\x01{} 1 2",
    ]
)  # fmt: skip
WRONG = st.sampled_from(
    ["word{} 1", "word{} 1 2 3", "word{} 1 x", "word{} 1 nan", "word{} 1 1e39", "word{} 1 -", "word{} 1 .", "", " 1 2",
     "word{} 1 2e", "word{} 1 0x1", "word0 1 2", "word{} 1e99999 2"]
)  # fmt: skip


def outcome(path, **options):
    """Return what reading a file gives, or how it is refused."""
    try:
        vectors = read_vectors(path, **options)
    except DataError as error:
        return type(error), str(error)
    return vectors.words, vectors.matrix.tobytes(), vectors.skipped


@pytest.fixture
def compare(monkeypatch, tmp_path):
    """Return a function that asserts that a text is read alike by both parsers, in blocks of 40 bytes and in one."""

    def compare(content, **options):
        path = tmp_path / "v.txt"
        path.write_text(content, encoding="utf-8", newline="")
        monkeypatch.setattr(rows, "LARGE_BYTES", 1 << 40)
        monkeypatch.setattr(text, "BLOCK_BYTES", 1 << 20)
        expected = outcome(path, **options)
        monkeypatch.setattr(rows, "LARGE_BYTES", 0)
        for size in (40, 1 << 20):
            monkeypatch.setattr(text, "BLOCK_BYTES", size)
            assert outcome(path, **options) == expected
        return expected

    return compare


@pytest.mark.parametrize("options", [{}, {"lenient": True}, {"limit": 3}], ids=["strict", "lenient", "limit"])
def test_compiled_code_reads_and_refuses_what_python_does(options, compare):
    @given(st.lists(LINES, max_size=12), st.lists(WRONG, max_size=1), st.integers(0, 12), st.booleans(), st.data())
    def check(lines, wrong, where, ends, data):
        lines[where:where] = wrong
        rows = [line.format(i) for i, line in enumerate(lines)]
        more = data.draw(st.integers(1 if wrong else -1, 3))  # of two errors, either may be reported
        first = [f"{max(1, len(rows) + more)} 2"] if more < 3 else []
        compare("\n".join([*first, "first 1 2", *rows]) + "\n" * ends, **options)

    check()


def test_values_are_rounded_as_numpy_rounds_them(compare):
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 32, 4000, dtype=np.uint32).view(np.float32)
    values = np.concatenate([bits[np.isfinite(bits)], rng.normal(size=4000)])
    printed = [f"{value:{form}}" for value in values.tolist() for form in (".6f", ".9g", ".17g")]
    lines = [f"w{i} {number} {number}" for i, number in enumerate(printed)]
    words, matrix, _ = compare("\n".join(lines) + "\n")
    assert len(words) == len(printed)
    assert np.frombuffer(matrix, np.float32)[::2].tobytes() == np.float32([float(n) for n in printed]).tobytes()
