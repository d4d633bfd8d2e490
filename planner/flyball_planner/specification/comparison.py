"""The section `scalability`: what a plan compares, and which layouts it may use for that."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.layout_search.candidates import Choices

USUAL_DEVICES = (1, 2, 4, 8)
"""Numbers of devices to compare if the section is enabled and names none."""


class ComparedCases(Struct, frozen=True):
    """Other numbers of devices and batches, and whether a model may be divided among devices."""

    devices: tuple[int, ...] = ()
    batch_sizes: tuple[int, ...] = ()
    divided: bool = True

    def restricted(self, choices: Choices | None) -> Choices | None:
        """Return the restrictions of the search, without layouts that divide a model if none may."""
        if self.divided:
            return choices
        return replace(choices or Choices(), tensor=(1,), pipeline=(1,), context=(1,), expert=(1,))


def read_comparison(values: Mapping[str, Any]) -> ComparedCases:
    """Return what to compare."""
    divided = values.get("model_parallel", True)
    if not values.get("enabled", True):
        return ComparedCases(divided=divided)
    devices, batches = values.get("devices", ()), values.get("batch_sizes", ())
    if "enabled" in values and not devices and not batches:
        devices = USUAL_DEVICES
    if not values.get("data_parallel", True) and not divided:
        devices = ()  # nothing is left that more devices could do
    return ComparedCases(tuple(sorted(set(devices))), tuple(sorted(set(batches))), divided)
