"""The version of Flyball."""

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """Return the version of the installed package."""
    try:
        return version("flyball-fleet")
    except PackageNotFoundError:
        return "unknown"
