"""Records of runs, FILE.json, beside files that commands overwrite."""

from contextlib import suppress
from pathlib import Path

from w2vtrain.commands.options import warn
from w2vtrain.errors import W2VError
from w2vtrain.system.files import is_stream


def remove_record(output: str, force: bool) -> None:
    """Delete the record of a run beside an output that was written with `force`: it describes the file before."""
    file = Path(f"{output}.json")
    if not force or is_stream(output) or not file.is_file():
        return
    from w2vtrain.training.run_status import describe_record  # loads what training needs

    with suppress(W2VError, OSError):
        if "vectors" in (describe_record(file) or ()):
            file.unlink()
            warn(f"{file}: removed, because it was the record of the file before")
