"""Temperatures of the machine, with the limits of their chips."""

from flyball.host.hardware_parts import HostTemperature
from flyball.host.places import HostPlaces
from flyball_agent.probes.temperature import CRITICAL, TEMPERATURE, TemperatureProbe


def read_temperatures(places: HostPlaces) -> tuple[HostTemperature, ...]:
    """Read all sensors once. Raise `Unavailable` with the reason if there are none; slow buses take a while."""
    sample = TemperatureProbe(places.sys).read()
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for column, value in zip(sample.columns, sample.values, strict=True):
        if value is not None:
            values.setdefault(column.metric.name, {})[column.labels] = value
    critical = values.get(CRITICAL.name, {})
    return tuple(
        HostTemperature(name=" ".join(labels), celsius=celsius, critical_celsius=critical.get(labels))
        for labels, celsius in values.get(TEMPERATURE.name, {}).items()
    )
