"""The suite passes whatever the environment of the shell that starts it, and whatever an earlier test has left."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import surroundings

from w2vtrain.commands import shell

ROOT = Path(__file__).parents[1]
HOSTILE = {
    **{"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "1"},
    **{"NUMBA_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": "1", "W2VTRAIN_EPOCHS": "2", "W2VTRAIN_NOSUCH": "1"},
    **{"PMI_RANK": "1", "PMI_SIZE": "4", "SLURM_CPUS_PER_TASK": "1", "SLURM_JOB_ID": "17"},
    **{"LC_ALL": "C", "LANG": "tlh", "TZ": "Nowhere/No+99", "COLUMNS": "40", "LINES": "5", "TERM": "dumb"},
    **{"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "SOURCE_DATE_EPOCH": "1"},
    **{"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii", "PYTHONWARNINGS": "always"},
    **{"PYTHONOPTIMIZE": "2", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONINTMAXSTRDIGITS": "640"},
}
BY_LIBRARIES = {"KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"}
"""Variables that scikit-learn sets in this process when a test imports it."""
PART = [
    "commands/test_cli.py::test_print_config_output_is_a_config_file_with_the_same_settings",
    "commands/test_cli.py::test_shell_completion_offers_the_choices_of_a_setting",
    "commands/test_console.py",
    "commands/test_objectives_command.py",
    "distributed/test_mpi.py::test_library_that_does_not_belong_to_the_launcher_is_reported",
    "evaluation/test_comparison.py::test_ctrl_c_ends_the_command_with_one_line[1]",
    "probability/test_blas.py",
    "system/test_environment.py::test_a_working_folder_deleted_during_training_does_no_harm",
]


def test_a_part_of_the_suite_passes_in_a_hostile_environment(tmp_path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/inner"]
    command += [f"tests/{name}" for name in PART]
    about = {"capture_output": True, "text": True, "encoding": "utf-8", "check": False, "umask": 0o077}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **HOSTILE}, **about)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_variables_that_change_results_are_removed_and_others_are_kept():
    kept = {"PATH": "/bin", "PYTHONPATH": "/lib", "NUMBA_CACHE_DIR": "/cache", "W2V_SCREENSHOTS": "/tmp"}
    assert set(surroundings.unwanted({**HOSTILE, **kept})) == set(HOSTILE)
    assert "NUMBA_CPU_NAME" in surroundings.unwanted({"NUMBA_CPU_NAME": "generic"})
    assert not surroundings.unwanted({"NUMBA_CPU_NAME": "generic", "W2V_KEEP": "NUMBA_CPU_NAME"})
    assert not set(surroundings.unwanted(os.environ)) - {"LANG", *BY_LIBRARIES}


def test_a_thread_of_an_earlier_test_does_not_end_pytest(w2vtrain_here, tmp_path):
    """The command line ends its process without Python's shutdown if a thread of a run is still at work."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name=f"{shell.NAME} learner 0")
    thread.start()
    try:
        assert w2vtrain_here(["--version"], tmp_path)[0] == 0
    finally:
        end.set()
        thread.join()
