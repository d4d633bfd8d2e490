"""The progress of the collector's start-up."""

from dataclasses import dataclass


@dataclass(slots=True)
class StartUp:
    """Start-up progress. The diagnosis holds back until both are true; the code that loads data sets them."""

    conditions_loaded: bool = True  # conditions from before the restart are loaded: urgent ones can be raised
    windows_warm: bool = True  # the last minutes of readings are loaded too: everything can be raised and cleared

    @classmethod
    def cold(cls) -> "StartUp":
        """Return the state of a collector that has just started."""
        return cls(conditions_loaded=False, windows_warm=False)
