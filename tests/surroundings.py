"""Give the suite, and every process that it starts, the same environment everywhere.

Importing this module removes the variables that change what the libraries or the command line do. It must be imported
before NumPy and Numba, which read theirs when they are loaded. A test that is about such a variable sets it itself.
W2V_KEEP lists variables to keep: `W2V_KEEP=NUMBA_CPU_NAME NUMBA_CPU_NAME=generic make test`.
"""

import errno
import os
import stat
import sys

REMOVED = (
    *("W2VTRAIN_", "_W2VTRAIN_"),
    *("OPENBLAS_", "GOTO_", "OMP_", "GOMP_", "KMP_", "MKL_", "BLIS_", "VECLIB_", "NPY_", "NUMBA_", "MPLBACKEND"),
    *("PMI_", "PMIX_", "OMPI_", "PRTE_", "HYDRA_", "MPIEXEC_", "I_MPI_", "SLURM", "PBS_", "LSB_", "PE_HOSTFILE"),
    *("LC_", "LANG", "TZ", "COLUMNS", "LINES", "TERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "TTY_", "TQDM_"),
    *("PYTHON", "SOURCE_DATE_EPOCH", "POSIXLY_CORRECT"),
)
"""How the names of removed variables begin."""

KEPT = {
    *("NUMBA_CACHE_DIR", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONPLATLIBDIR"),
    *("PYTHONHASHSEED", "PYTHONPYCACHEPREFIX", "PYTHONEXECUTABLE"),
}
"""Variables that say only where files are, or that no result may depend on."""

HARMLESS = {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
"""Variables of Python that need no new process. Without bytecode, each of the suite's hundreds of processes would
compile the whole package again, which takes a third of a second."""


def unwanted(environment):
    """Return the names of the variables that the suite must not see."""
    kept = KEPT | set(environment.get("W2V_KEEP", "").split())
    return [name for name in environment if name.startswith(REMOVED) and name not in kept]


def checked(handle):
    """Fail as os.fsync does for what is no file or folder, and do nothing else."""
    mode = os.fstat(handle).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def restart(config):
    """Start pytest again if this process has read a variable that is removed now; xdist's workers never do."""
    if READ and hasattr(os, "execv") and sys.platform != "win32":
        config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
        os.execv(sys.executable, sys.orig_argv)


def clean():
    """Remove the variables; return whether Python itself has read one that could change the results of tests."""
    removed = unwanted(os.environ)
    for name in removed:
        del os.environ[name]
    os.environ["LANG"] = "C.UTF-8"
    os.umask(0o022)
    sys.dont_write_bytecode = False
    read = {name for name in removed if name.startswith("PYTHON")} - HARMLESS
    return bool(read) or sys.getfilesystemencoding() != "utf-8"


READ = clean()
