"""`flyball hardware`: which devices are known, and everything that is known of one, with its sources."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError
from flyball.command.output import CommandResult, FormOption, OutputOption, tell
from flyball.command.specifications import WRONG, HardwareFileOption, use_hardware

if TYPE_CHECKING:
    from flyball_planner.catalogue.hardware import Device, Link

EXAMPLE = "Examples: flyball hardware --list; flyball hardware --list --kind gpu; flyball hardware --details 'H100 SXM'"


class Kind(StrEnum):
    """Which devices."""

    GPU = "gpu"
    TPU = "tpu"
    CPU = "cpu"
    UNIFIED = "unified"


def hardware(
    list_: Annotated[bool, typer.Option("--list", help="All devices; also without it.")] = False,
    details: Annotated[str, typer.Option("--details", metavar="NAME", help="All that is known of one device.")] = "",
    kind: Annotated[Kind | None, typer.Option(help="Only devices of this kind.")] = None,
    format_: FormOption = None,
    output: OutputOption = None,
    hardware_file: HardwareFileOption = None,
) -> None:
    """List the devices that a specification can name, and what is known of each."""
    del list_  # the list is what is shown anyway
    if details and kind:
        raise CommandError("name either --details or --kind: one device is of one kind", WRONG)
    use_hardware(hardware_file)
    tell(_details(details) if details else _list(kind), format_, output)


def _list(kind: Kind | None) -> CommandResult:
    from flyball_planner.catalogue.devices import devices, profiles
    from flyball_reports.section import Section, Table

    shown = sorted((each for each in devices() if kind is None or each.kind.value == kind), key=_order)
    named = tuple((each.name, each.device, each.default_format, f"{each.devices}") for each in profiles().values())
    heads = ("Device", "Vendor", "Architecture", "Memory", "Bandwidth", "Arithmetic", "Power", "Year")
    sections = (
        Section("Named profiles", tables=(Table(named, ("Profile", "Device", "Format", "Devices"), (3,)),)),
        Section("Devices", tables=(Table(tuple(map(_row, shown)), heads, (3, 4, 5, 6, 7)),)),
    )
    document = {
        "profiles": [to_builtins(each) for each in profiles().values()],
        "devices": [_document(each) for each in shown],
    }
    return CommandResult("Hardware", sections if kind is None else sections[1:], document)


def _order(device: "Device") -> tuple[str, str, int, str]:
    return device.kind.value, device.vendor, device.launch_year or 0, device.name


def _row(device: "Device") -> tuple[str, ...]:
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


def _best(device: "Device") -> tuple[float, str]:
    """The rate of the format that it is mostly used with."""
    from flyball_planner.precision import Format

    wanted = (device.default_format, Format.BF16, Format.FP16, Format.FP32, *device.flops_per_second)
    format_ = next((each for each in wanted if each is not None and each in device.flops_per_second), None)
    return (device.flops_per_second[format_], format_.value) if format_ else (0.0, "")


def _details(name: str) -> CommandResult:
    from flyball_planner.catalogue.devices import find_device
    from flyball_reports.errors import InputError
    from flyball_reports.section import Section, Table

    try:
        device = find_device(name)
    except InputError as error:
        raise CommandError(str(error), WRONG) from None
    rows = tuple((label, value) for label, value in _facts(device) if value)
    return CommandResult(device.name, (Section("", tables=(Table(rows),)),), _document(device))


def _facts(device: "Device") -> list[tuple[str, str]]:
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
        ("power", f"{device.power_watts:.0f} W" if device.power_watts else ""),
        ("slows down at", f"{device.slowdown_celsius:.0f} °C" if device.slowdown_celsius else ""),
        ("year", f"{device.launch_year}" if device.launch_year else ""),
        ("also called", ", ".join(device.aliases)),
        ("confidence", device.confidence),
        ("source", device.source),
        ("note", device.note),
    ]


def _link(link: "Link | None") -> str:
    from flyball_reports.figures import rate

    return f"{link.name}, {rate(link.bytes_per_second, 'B/s')} one way" if link else ""


def _document(device: "Device") -> dict[str, Any]:
    return {
        **to_builtins(device),
        "flops_per_second": {each.value: rate for each, rate in device.flops_per_second.items()},
    }
