"""How far the collector has come since it started."""

from dataclasses import dataclass


@dataclass(slots=True)
class StartUp:
    """Shared by the diagnosis, which holds back until both are true, and by what loads and warms up."""

    conditions_loaded: bool = (
        True  # the conditions that were active before the restart are known: urgent ones are raised
    )
    windows_warm: bool = True  # the last minutes of readings are loaded too: everything is raised and cleared

    @classmethod
    def cold(cls) -> "StartUp":
        """Return the state of a collector that has just started."""
        return cls(conditions_loaded=False, windows_warm=False)
