"""`flyball hardware`: the devices that a specification can name, and the data sheet of one."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from flyball.command.errors import WrongArgument
from flyball.command.models_file import ModelsFileOption, use_models
from flyball.command.output import CommandResult, OutputOption, ResultFormatOption, write_result
from flyball.command.specifications import HardwareFileOption, one_name, use_hardware

if TYPE_CHECKING:
    from flyball_planner.catalogue.hardware import ComputeDevice, DeviceLink

EXAMPLES = ("flyball hardware", "flyball hardware --kind gpu", "flyball hardware 'H100 SXM'")


class HardwareKind(StrEnum):
    """The kinds of devices."""

    GPU = "gpu"
    TPU = "tpu"
    CPU = "cpu"
    UNIFIED = "unified"


def hardware(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Show the details of this device.")] = "",
    list_: Annotated[bool, typer.Option("--list", help="List all devices; the default without a name.")] = False,
    details: Annotated[str, typer.Option("--details", metavar="NAME", help="The same as NAME.")] = "",
    kind: Annotated[HardwareKind | None, typer.Option(help="Only devices of this kind.")] = None,
    format_: ResultFormatOption = None,
    output: OutputOption = None,
    hardware_file: HardwareFileOption = None,
    models_file: ModelsFileOption = None,
) -> None:
    """List the devices that a specification can name, or show the details of one."""
    wanted = one_name(name, details, list_=list_)
    if wanted and kind:
        raise WrongArgument("--kind filters the list; leave it out with a name")
    use_hardware(hardware_file)
    use_models(models_file)
    write_result(_details(wanted) if wanted else _list(kind), format_, output)


def _list(kind: HardwareKind | None) -> CommandResult:
    from flyball_planner.catalogue.devices import devices, profiles
    from flyball_reports.section import ReportTable, Section

    shown = sorted((each for each in devices() if kind is None or each.kind.value == kind), key=_order)
    named = tuple((each.name, each.device, each.default_format, f"{each.devices}") for each in profiles().values())
    heads = ("Device", "Vendor", "Architecture", "Memory", "Bandwidth", "Arithmetic", "Power", "Year")
    sections = (
        Section("Named profiles", tables=(ReportTable(named, ("Profile", "Device", "Format", "Devices"), (3,)),)),
        Section("Devices", tables=(ReportTable(tuple(map(_row, shown)), heads, (3, 4, 5, 6, 7)),)),
    )
    document = {
        "profiles": [to_builtins(each) for each in profiles().values()],
        "devices": [_document(each) for each in shown],
    }
    return CommandResult("Hardware", sections if kind is None else sections[1:], document)


def _order(device: "ComputeDevice") -> tuple[str, str, int, str]:
    return device.kind.value, device.vendor, device.launch_year or 0, device.name


def _row(device: "ComputeDevice") -> tuple[str, ...]:
    from flyball_reports.figures import rate, size

    best, format_ = _best(device)
    return (
        device.name,
        device.vendor,
        device.architecture,
        size(device.memory_bytes),
        rate(device.memory_bytes_per_second, "B/s"),
        f"{rate(best, 'FLOP/s')} {format_}" if best else "–",
        f"{device.power_watts:.0f} W" if device.power_watts else "–",
        f"{device.launch_year}" if device.launch_year else "–",
    )


def _best(device: "ComputeDevice") -> tuple[float, str]:
    """Return the rate in the format that the device is mostly used with."""
    from flyball_planner.precision import NumberFormat

    wanted = (device.default_format, NumberFormat.BF16, NumberFormat.FP16, NumberFormat.FP32, *device.flops_per_second)
    format_ = next((each for each in wanted if each is not None and each in device.flops_per_second), None)
    return (device.flops_per_second[format_], format_.value) if format_ else (0.0, "")


def _details(name: str) -> CommandResult:
    from flyball_planner.specification.hardware import named_machine
    from flyball_reports.errors import InputError
    from flyball_reports.section import ReportTable, Section

    try:
        machine = named_machine(name)
    except InputError as error:
        raise WrongArgument(str(error)) from None
    device = machine.device
    rows = tuple((label, value) for label, value in _facts(device) if value)
    several = f"{name} has {machine.devices} of these devices." if machine.devices > 1 else ""
    section = Section("", (several,) if several else (), tables=(ReportTable(rows),))
    return CommandResult(device.name, (section,), {**_document(device), "devices": machine.devices})


def _facts(device: "ComputeDevice") -> list[tuple[str, str]]:
    from flyball_reports.figures import rate, size

    return [
        ("kind", device.kind.value),
        ("vendor", device.vendor),
        ("architecture", f"{device.architecture} {device.capability}".strip()),
        ("memory", f"{size(device.memory_bytes)} {device.memory_type}".strip()),
        ("visible memory", size(device.visible_bytes) if device.visible_bytes else ""),
        ("bandwidth", rate(device.memory_bytes_per_second, "B/s")),
        *((f"dense {format_}", rate(value, "FLOP/s")) for format_, value in device.flops_per_second.items()),
        ("tensor cores", "yes" if device.tensor_cores else "no"),
        ("within a node", _link(device.within_node)),
        ("to the host", _link(device.host_link)),
        ("cores", f"{device.cores}" if device.cores else ""),
        ("memory of the host", size(device.host_memory_bytes) if device.host_memory_bytes else ""),
        ("price", "" if device.usd_per_hour is None else f"${device.usd_per_hour:,.2f} for a device-hour"),
        ("power", f"{device.power_watts:.0f} W" if device.power_watts else ""),
        ("slows down at", f"{device.slowdown_celsius:.0f} °C" if device.slowdown_celsius else ""),
        ("year", f"{device.launch_year}" if device.launch_year else ""),
        ("also called", ", ".join(device.aliases)),
        ("confidence", device.confidence),
        ("source", device.source),
        ("note", device.note),
    ]


def _link(link: "DeviceLink | None") -> str:
    from flyball_reports.figures import rate

    return f"{link.name}, {rate(link.bytes_per_second, 'B/s')} one way" if link else ""


def _document(device: "ComputeDevice") -> dict[str, Any]:
    return {
        **to_builtins(device),
        "flops_per_second": {each.value: rate for each, rate in device.flops_per_second.items()},
    }
