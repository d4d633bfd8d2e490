"""The JSON file of a profile."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from flyball.profiling.profiling_summary import ProfilingSummary
from flyball.profiling.resource_snapshot import ResourceSnapshot

SCHEMA_VERSION = 1


class ProfileNotWritten(OSError):
    """A profile that cannot be written; the message has the file, the reason and what to do."""

    def __init__(self, path: Path, error: OSError) -> None:
        reason = error.strerror or str(error) or type(error).__name__
        super().__init__(f"cannot write {path}: {reason}. Name a file in a folder that exists and can be written")

    def __str__(self) -> str:
        """Return the message."""
        return str(self.args[0])


def profile_document(
    summary: ProfilingSummary, snapshots: Sequence[ResourceSnapshot], command: Sequence[str] | None = None
) -> dict[str, object]:
    """Return a profile as plain data."""
    document: dict[str, object] = {"schema_version": SCHEMA_VERSION}
    if command is not None:
        document["command"] = list(command)
    return document | {"summary": asdict(summary), "snapshots": [asdict(each) for each in snapshots]}


def write_profile(path: Path, document: object) -> None:
    """Write a document so that the file is either complete or as it was before. Raise ProfileNotWritten."""
    text = json.dumps(document, indent=1) + "\n"
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        try:
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise ProfileNotWritten(path, error) from None
