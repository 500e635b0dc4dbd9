"""Which kernels OpenBLAS is told to take, and that products stay in their thread."""

import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from w2vtrain.blas import NEEDED, choose_kernels, one_thread

ALL = " ".join(sorted(NEEDED))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"processor\t: 0\nflags\t\t: fpu sse2 {ALL} sha_ni\nflags\t\t: fpu\n", {"OPENBLAS_CORETYPE": "SKYLAKEX"}),
        ("processor\t: 0\nflags\t\t: fpu sse2 avx2 avx512f\n", {}),
        (f"processor\t: 0\nflags\t\t: {ALL.replace('avx512vl', 'avx512vlx')}\n", {}),
        ("processor\t: 0\nFeatures\t: fp asimd\n", {}),
        ("", {}),
    ],
)
def test_avx512_is_asked_for_where_the_processor_has_all_of_it(tmp_path, text, expected):
    path, environment = tmp_path / "cpuinfo", {}
    path.write_text(text)
    choose_kernels(environment, str(path))
    assert environment == expected


def test_what_the_user_chose_stays(tmp_path):
    path, environment = tmp_path / "cpuinfo", {"OPENBLAS_CORETYPE": "HASWELL"}
    path.write_text(f"flags\t\t: {ALL}\n")
    choose_kernels(environment, str(path))
    assert environment == {"OPENBLAS_CORETYPE": "HASWELL"}
    choose_kernels(environment, str(tmp_path / "nowhere"))


def test_kernels_are_chosen_before_numpy_is_there():
    """OpenBLAS looks at its environment once, when it is loaded."""
    program = (
        "import sys, w2vtrain.blas as b\n"
        "assert 'numpy' not in sys.modules\n"
        "import w2vtrain.cli\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_one_thread_holds_for_numpy_and_scipy_and_ends():
    np.dot(np.eye(3), np.eye(3))
    with one_thread():
        inside = threads()
    before = threads()
    assert set(inside) == {1}
    assert len(inside) >= 1
    with pytest.raises(KeyError), one_thread():
        {}["an error inside"]
    assert threads() == before
