"""A small corpus for the scripts that train."""

import pytest
from reference import zipf_text


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return zipf_text(tmp_path_factory.mktemp("bench") / "corpus.txt", 1, 1.5, (300, 12), 50)
