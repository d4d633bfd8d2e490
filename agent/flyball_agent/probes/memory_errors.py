"""Memory errors that the memory controllers corrected or could not correct (EDAC), from sysfs."""

from collections.abc import Sequence
from pathlib import Path

from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, count_of, entries, read_text
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import counter
from flyball_proto.unavailable_reading import Reason

MAX_MODULES = 32
"""Maximum number of memory modules with errors that are listed on one host."""
SCAN_EVERY = 30
"""The probe searches for modules every thirtieth time (every 5 min), because a search opens files of each module."""

_CONTROLLER = ("controller",)
_MODULE = ("controller", "module")
CONTROLLER = (
    counter("memory_corrected_errors_total", "errors", "Memory errors that the controller corrected.", _CONTROLLER),
    counter(
        "memory_uncorrected_errors_total",
        "errors",
        "Memory errors that the controller could not correct.",
        _CONTROLLER,
    ),
)
MODULE = (
    counter(
        "memory_module_corrected_errors_total",
        "errors",
        "Corrected errors of one memory module. Only modules with errors are listed.",
        _MODULE,
    ),
    counter(
        "memory_module_uncorrected_errors_total",
        "errors",
        "Uncorrected errors of one memory module. Only modules with errors are listed.",
        _MODULE,
    ),
)


class ErrorCounts:
    """The two counters of a controller or of a module."""

    __slots__ = ("_corrected", "_uncorrected", "labels")

    def __init__(self, folder: Path, prefix: str, labels: tuple[str, ...]) -> None:
        self._corrected = KernelFile(folder / f"{prefix}ce_count", size=64)
        self._uncorrected = KernelFile(folder / f"{prefix}ue_count", size=64)
        self.labels = labels

    def values(self) -> list[Value]:
        return [count_of(self._corrected), count_of(self._uncorrected)]


def modules(controllers: Path) -> list[str]:
    """Return the modules that have had errors, such as `mc0/dimm3`. Some drivers name them ranks."""
    found = [
        f"{controller}/{name}"
        for controller in controller_names(controllers)
        for name in entries(controllers / controller)
        if name.startswith(("dimm", "rank")) and _has_errors(controllers / controller / name)
    ]
    return found[:MAX_MODULES]


def _has_errors(folder: Path) -> bool:
    return any((read_text(folder / name) or "0") != "0" for name in ("dimm_ce_count", "dimm_ue_count"))


def controller_names(controllers: Path) -> list[str]:
    """Return the controllers, such as `mc0`."""
    return [name for name in entries(controllers) if name.startswith("mc") and name[2:].isdigit()]


def module_labels(controllers: Path, name: str) -> tuple[str, str]:
    """Return controller and module. The label on the board is added if the driver knows it: `dimm3 CPU0_C1`."""
    controller, _, module = name.partition("/")
    label = (read_text(controllers / name / "dimm_label") or "").strip()
    return controller, f"{module} {label}" if label else module


class MemoryErrorProbe:
    """Reads all memory controllers."""

    name = "memory_errors"
    metrics = (*CONTROLLER, *MODULE)
    every_seconds = 10.0
    blocking = False

    def __init__(self, sys_root: Path) -> None:
        controllers = sys_root / "devices/system/edac/mc"
        self._columns = GroupedColumns(CONTROLLER, MODULE)
        self._gaps = Gaps(self.name, "not provided by this memory controller", Reason.UNSUPPORTED)
        self._controllers: Devices[ErrorCounts] = Devices(
            lambda: controller_names(controllers),
            lambda name: ErrorCounts(controllers / name, "", (name,)),
        )
        self._modules: Devices[ErrorCounts] = Devices(
            lambda: modules(controllers),
            lambda name: ErrorCounts(controllers / name, "dimm_", module_labels(controllers, name)),
            SCAN_EVERY,
        )

    def read(self) -> ProbeSample:
        controllers = list(self._controllers.current().values())
        if not controllers:
            self._controllers.request_scan()
            raise Absent(
                "no memory controller reports errors",
                "normal in a virtual machine; else load the EDAC driver of the processor",
            )
        found = list(self._modules.current().values())
        columns = self._columns.columns(_labels(controllers), _labels(found))
        values = [value for each in (*controllers, *found) for value in each.values()]
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))


def _labels(counts: Sequence[ErrorCounts]) -> list[tuple[str, ...]]:
    return [each.labels for each in counts]
