"""The environment of a command under `flyball run`."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SITE_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")  # noqa: PTH100,PTH118,PTH120  pathlib is slow
_COERCED = "LC_CTYPE"


def child_environment(
    environment: Mapping[str, str],
    *,
    name: str,
    labels: Sequence[str],
    total_steps: int | None = None,
    measure: int | None = None,
    evidence: str = "",
    policy: str | None = None,
) -> dict[str, str]:
    """Return the environment for the command: our folder first on Python's path, and what its runs are to be named."""
    found = dict(environment)
    paths = [path for path in found.get("PYTHONPATH", "").split(os.pathsep) if path and path != SITE_FOLDER]
    found["PYTHONPATH"] = os.pathsep.join([SITE_FOLDER, *paths])
    found["FLYBALL_RUN"] = name
    all_labels = [label for label in (found.get("FLYBALL_LABELS", ""), *labels) if label]
    if all_labels:
        found["FLYBALL_LABELS"] = ",".join(all_labels)
    for variable, value in (
        ("FLYBALL_TOTAL_STEPS", total_steps),
        ("FLYBALL_MEASURE", measure),
        ("FLYBALL_EVIDENCE", evidence),
        ("FLYBALL_POLICY", policy),
    ):
        found.pop(variable, None)
        if value:
            found[variable] = str(value)
    return found


def without_coercion(environment: Mapping[str, str], at_start: bytes | None) -> dict[str, str]:
    """Return the environment without the locale that this Python has set for itself, as it does in the C locale."""
    found = dict(environment)
    if at_start is not None and not any(entry.startswith(b"LC_CTYPE=") for entry in at_start.split(b"\0")):
        found.pop(_COERCED, None)
    return found


def environment_at_start() -> bytes | None:
    """Return the environment that this process was started with, or None where the kernel does not show it."""
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  pathlib is slow
            return file.read()
    except OSError:
        return None
