"""A small corpus for the scripts that train."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("bench") / "corpus.txt"
    lines = [" ".join(f"w{int(k)}" for k in rng.zipf(1.5, 12) % 50) for _ in range(300)]
    path.write_text("\n".join(lines) + "\n")
    return path
