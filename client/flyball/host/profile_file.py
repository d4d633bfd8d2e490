"""A profile as a JSON document, and back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from flyball.host.hardware_profile import HardwareProfile
from flyball_reports.errors import InputError

DERIVED = ("cpu_cores", "ram_gb", "mongo_write_speed", "disk_write_speed", "network_latency_ms")


def profile_document(profile: HardwareProfile) -> dict[str, Any]:
    """Return the profile with its derived values as plain data for JSON. Unknown values are null."""
    document: dict[str, Any] = msgspec.to_builtins(profile)
    return {**{name: getattr(profile, name) for name in DERIVED}, **document}


def read_profile(document: Mapping[str, Any]) -> HardwareProfile:
    """Return the profile of a document. Raise InputError with the place of what is wrong."""
    try:
        return msgspec.convert({key: value for key, value in document.items() if key not in DERIVED}, HardwareProfile)
    except msgspec.ValidationError as error:
        raise InputError(f"not a hardware profile: {error}") from None


def load_profile(path: Path) -> HardwareProfile:
    """Return the profile of a file. Raise InputError if it is not one."""
    try:
        document = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: {reason}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path}: not a hardware profile: expected an object")
    return read_profile(document)
