import numpy as np
import pytest
from hypothesis import settings

from w2vtrain.architectures import Cbow, SkipGram

settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")

ARCHITECTURES = {
    "skipgram": lambda window: SkipGram(window),
    "cbow": lambda window: Cbow(window, False),
    "cbow-corrected": lambda window: Cbow(window, True),
}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(params=ARCHITECTURES)
def architecture(request):
    """(name, constructor of window) of every architecture."""
    return request.param, ARCHITECTURES[request.param]


@pytest.fixture(autouse=True, scope="session")
def _python_twins_may_overflow():
    """uint64 arithmetic wraps around; NumPy's scalars warn where compiled code does not."""
    with np.errstate(over="ignore"):
        yield
