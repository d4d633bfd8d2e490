"""Which version this is."""

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """The version of the installed package."""
    try:
        return version("flyball-fleet")
    except PackageNotFoundError:
        return "unknown"
