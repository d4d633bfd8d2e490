"""The version of the installed distribution."""

import sys
from pathlib import Path

_NAME, _SUFFIX = "flyball_fleet-", ".dist-info"


def installed_version() -> str:
    """Return the installed version, or `unknown` when the agent runs from a source tree that is not installed.

    `importlib.metadata` imports the `email` package for this, which would take 2.7 MB of the agent's memory.
    """
    for folder in sys.path:
        for found in Path(folder).glob(f"{_NAME}*{_SUFFIX}"):
            return found.name.removeprefix(_NAME).removesuffix(_SUFFIX)
    return "unknown"
