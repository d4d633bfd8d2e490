"""Messages about files that cannot be read or written. `flyball_reports.errors` has the same for the planner."""

from pathlib import Path


def read_fault(path: Path | str, error: OSError) -> str:
    """Return why a file cannot be read, and what to do."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return f"there is no file {path}"
        case IsADirectoryError():
            return f"{path} is a folder; name a file"
        case PermissionError():
            return f"cannot read {path}: no read permission. Run as root or change its mode"
    return f"cannot read {path}: {error.strerror or error}"


def write_fault(path: Path | str, error: OSError) -> str:
    """Return why a file cannot be written, and what to do."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return f"cannot write {path}: there is no folder {Path(path).parent}; create it, or name another"
        case IsADirectoryError():
            return f"{path} is a folder; name a file"
        case PermissionError():
            return f"cannot write {path}: no write permission. Run as root, or change the mode of its folder"
    return f"cannot write {path}: {error.strerror or error}"
