"""Temperatures and fans, from hwmon and from the thermal zones that hwmon does not have."""

from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, entries, number, read_number, read_text
from flyball_agent.probes.probe import Absent, ProbeSample, Unavailable, Value
from flyball_proto.metric import gauge
from flyball_proto.unavailable_reading import Reason

_LABELS = ("chip", "sensor")
MILLI = 1000
PLAUSIBLE_CELSIUS = (-60, 250)  # unconnected sensors read −128, 255 or 65261.85
MAX_RPM = 60_000

MAX_ZONES = 32
PACKAGE_LABELS = ("Package id", "Physical id")  # the second in older kernels
PACKAGE_ZONE, PACKAGE_CHIP = "x86_pkg_temp", "coretemp"  # the same sensors

TEMPERATURE = gauge("temperature_celsius", "celsius", "Temperature of a sensor of the host.", _LABELS, MILLI)
CRITICAL = gauge(
    "temperature_critical_celsius", "celsius", "Critical temperature according to the sensor's chip.", _LABELS, MILLI
)
FAN = gauge("fan_speed_rpm", "rotations/minute", "Speed of a fan. 0: stopped.", _LABELS)


class Sensor:
    """One temperature or fan sensor."""

    __slots__ = ("_file", "critical", "labels")

    def __init__(self, file: KernelFile, labels: tuple[str, str], critical_millicelsius: int | None) -> None:
        self._file = file
        self.labels = labels
        self.critical = None if critical_millicelsius is None else celsius(critical_millicelsius)

    def temperature(self) -> float | None:
        reading = _number(self._file)
        return None if reading is None else celsius(reading)

    def rotations(self) -> int | None:
        reading = _number(self._file)
        return reading if reading is not None and 0 <= reading < MAX_RPM else None


def celsius(millicelsius: int) -> float | None:
    """Convert to degrees; return None for a value that is not plausible."""
    lowest, highest = PLAUSIBLE_CELSIUS
    return millicelsius / MILLI if lowest < millicelsius / MILLI < highest else None


def chip_name(folder: Path) -> str:
    """Return the driver's name, made unique with its device: `coretemp.0`, `nvme0`, `k10temp-0000:00:18.3`."""
    name = read_text(folder / "name") or folder.name
    device = folder / "device"
    where = device.resolve().name if device.exists() else ""
    return where if where.startswith(name) else f"{name}-{where or folder.name}"


def inputs(hwmon: Path, prefix: str) -> list[str]:
    """Return the sensors of all chips, such as `hwmon0/temp1`.

    Sensors of single cores are skipped if their package has one: they would add up to 128 columns of the same kind.
    """
    found = []
    for chip in entries(hwmon):
        names = [name[:-6] for name in entries(hwmon / chip) if name.startswith(prefix) and name.endswith("_input")]
        labels = {name: read_text(hwmon / chip / f"{name}_label") or "" for name in names}
        package = any(label.startswith(PACKAGE_LABELS) for label in labels.values())
        found += [f"{chip}/{name}" for name in names if not (package and labels[name].startswith("Core "))]
    return found


def other_zones(zones: Path, hwmon: Path) -> list[str]:
    """Return the thermal zones that are not also chips of hwmon, where the kernel lists most of them.

    It writes the type of a zone as the name of a chip with underscores: `cpu-thermal` is `cpu_thermal`.
    """
    chips = {(read_text(hwmon / chip / "name") or "").replace("-", "_") for chip in entries(hwmon)} - {""}
    found = []
    for name in entries(zones):
        kind = (read_text(zones / name / "type") or "").replace("-", "_")
        known = kind in chips or (kind == PACKAGE_ZONE and PACKAGE_CHIP in chips)
        if name.startswith("thermal_zone") and not known:
            found.append(name)
    return found[:MAX_ZONES]


def sensor_labels(path: Path) -> tuple[str, str]:
    """Return chip and sensor. Sensors of one chip that share a label are named by their number instead."""
    label = read_text(path.with_name(f"{path.name}_label"))
    kind = path.name.rstrip("0123456789")
    same = sum(read_text(other) == label for other in path.parent.glob(f"{kind}*_label")) if label else 2
    return chip_name(path.parent), label if label and same == 1 else path.name


def _number(file: KernelFile) -> int | None:
    try:
        return number(file.read())
    except Unavailable:
        return None


class TemperatureProbe:
    """Reads all sensors. It is blocking, because some sensors are behind slow buses."""

    name = "temperature"
    metrics = (TEMPERATURE, CRITICAL, FAN)
    every_seconds = 0.0
    blocking = True

    def __init__(self, sys_root: Path) -> None:
        hwmon, zones = sys_root / "class/hwmon", sys_root / "class/thermal"
        self._columns = GroupedColumns((TEMPERATURE,), (CRITICAL,), (FAN,))
        self._gaps = Gaps(self.name, "the sensor has no plausible value", Reason.UNSUPPORTED)
        self._sensors: Devices[Sensor] = Devices(lambda: inputs(hwmon, "temp"), lambda name: _sensor(hwmon / name))
        self._zones: Devices[Sensor] = Devices(
            lambda: other_zones(zones, hwmon),
            lambda name: _zone(zones / name),
        )
        self._fans: Devices[Sensor] = Devices(lambda: inputs(hwmon, "fan"), lambda name: _sensor(hwmon / name))

    def read(self) -> ProbeSample:
        sensors = [*self._sensors.current().values(), *self._zones.current().values()]
        fans = list(self._fans.current().values())
        if not sensors and not fans:
            for devices in (self._sensors, self._zones, self._fans):
                devices.request_scan()
            raise Absent(
                "no temperature or fan sensor", "normal in a virtual machine; else load the board's sensor driver"
            )
        with_limit = [sensor for sensor in sensors if sensor.critical is not None]
        columns = self._columns.columns(
            [sensor.labels for sensor in sensors],
            [sensor.labels for sensor in with_limit],
            [fan.labels for fan in fans],
        )
        values: list[Value] = [sensor.temperature() for sensor in sensors]
        values += [sensor.critical for sensor in with_limit]
        values += [fan.rotations() for fan in fans]
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))


def _sensor(path: Path) -> Sensor:
    file = KernelFile(path.with_name(f"{path.name}_input"), size=64)
    return Sensor(file, sensor_labels(path), read_number(path.with_name(f"{path.name}_crit")))


def _zone(folder: Path) -> Sensor:
    labels = (folder.name, read_text(folder / "type") or folder.name)
    return Sensor(KernelFile(folder / "temp", size=64), labels, None)
