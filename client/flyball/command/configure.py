"""`flyball configure`: three complete training configurations for a machine."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import to_builtins

from flyball.command.emitted_files import EmitOption, ForOption, check_frameworks, write_emitted
from flyball.command.errors import WrongArgument
from flyball.command.limits import MOST_DAYS, MOST_DEVICES, finite
from flyball.command.output import CommandResult, OutputOption, ResultFormatOption, write_new, write_result
from flyball.command.specifications import HardwareFileOption, use_hardware

if TYPE_CHECKING:
    from flyball_planner.configurations.configuration import Configuration
    from flyball_planner.emit.emitted_run import EmittedRun
    from flyball_reports.section import Section

EXAMPLES = (
    "flyball configure RTX_4090_fp16",
    "flyball configure H100 --devices 8 --write configurations/",
    "flyball configure H100 --devices 8 --kind balanced --emit run/ --for transformers --for accelerate",
)


class ConfigurationKind(StrEnum):
    """The three configurations."""

    CONSERVATIVE = "conservative"
    BALANCED = "balanced"
    EXTREME = "extreme"


class DiskKind(StrEnum):
    """The storage of the training data."""

    NVME = "nvme"
    SSD = "ssd"
    HDD = "hdd"
    NETWORK = "network"


def configure(
    device: Annotated[
        str,
        typer.Argument(
            metavar="DEVICE", help="A device of `flyball hardware`, also with a number (8xH100), or a cloud instance."
        ),
    ],
    devices: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", min=1, max=MOST_DEVICES, help="Number of devices.  [default: that of the name, else 1]"
        ),
    ] = None,
    kind: Annotated[ConfigurationKind | None, typer.Option(help="Only this configuration.")] = None,
    disk: Annotated[DiskKind, typer.Option(help="Storage of the training data.")] = DiskKind.NVME,
    days: Annotated[
        float, typer.Option(metavar="DAYS", min=0.1, max=MOST_DAYS, callback=finite, help="Longest run to propose.")
    ] = 7.0,
    write: Annotated[
        Path | None,
        typer.Option("--write", "-w", metavar="FOLDER", help="Write each configuration as a specification."),
    ] = None,
    emit: EmitOption = None,
    frameworks: ForOption = None,
    format_: ResultFormatOption = None,
    output: OutputOption = None,
    hardware_file: HardwareFileOption = None,
) -> None:
    """Propose a conservative, a balanced and an extreme configuration, with the limits that each one misses."""
    from flyball_planner.configurations.bounds import ALL
    from flyball_planner.configurations.configure import configure as proposed
    from flyball_planner.specification.hardware import named_machine
    from flyball_reports.errors import InputError

    check_frameworks(emit, frameworks)
    use_hardware(hardware_file)
    kinds = tuple(bounds for bounds in ALL if kind is None or bounds.name == kind)
    try:
        machine = named_machine(device, devices)
        found = proposed(machine, kinds, longest_days=days)
    except InputError as error:
        raise WrongArgument(str(error)) from None
    if write is not None:
        write_new({write / f"{each.name}.yaml": _naming(each.specification, hardware_file, write) for each in found})
    if emit is not None:
        write_emitted(_runs(found, emit), frameworks)
    sections = tuple(section for each in found for section in _sections(each, disk))
    count = machine.devices
    machine_name = f"{count} × {found[0].device}" if count > 1 else found[0].device
    write_result(CommandResult(f"Configurations for {machine_name}", sections, _document(found, disk)), format_, output)


def _naming(specification: str, file: Path | None, folder: Path) -> str:
    """Return a specification with the path from its folder to the file of own devices, if there is one."""
    from os.path import relpath

    from flyball_planner.configurations.numbers import with_hardware_file

    return specification if file is None else with_hardware_file(specification, Path(relpath(file, folder)).as_posix())


def _runs(found: "tuple[Configuration, ...]", folder: Path) -> "dict[Path, EmittedRun]":
    """Return the run of each configuration, with a folder of its own."""
    from flyball_planner.emit.run_sources import run_of_configuration
    from flyball_planner.specification.reader import read_specification

    return {folder / each.name: run_of_configuration(each, read_specification(each.specification)) for each in found}


def _document(found: "tuple[Configuration, ...]", disk: DiskKind) -> list[dict[str, object]]:
    from flyball_planner.configurations.supplements import supplements_of

    return [{**to_builtins(each), **to_builtins(supplements_of(each, disk.value))} for each in found]


def _sections(each: "Configuration", disk: DiskKind) -> "list[Section]":
    from flyball_planner.configurations.supplements import supplements_of
    from flyball_planner.configurations.tables import (
        budgets_table,
        numbers_table,
        phases_table,
        processor_table,
        streaming_table,
    )
    from flyball_reports.section import Section

    supplements = supplements_of(each, disk.value)
    missed = tuple(
        f"{bound.bound}: {bound.reached} instead of {bound.wanted}; {bound.because}" for bound in each.missed
    )
    tables = [numbers_table(each), phases_table(supplements.phases), streaming_table(supplements.streaming)]
    tables.append(budgets_table(supplements.budgets))
    tables += [processor_table(supplements.processor)] if supplements.processor else []
    settings = tuple(f"{name}={value}" for name, value in each.settings)
    sections = [
        Section(
            each.name.capitalize(),
            (f"{each.purpose[:1].upper()}{each.purpose[1:]}. Family of devices: {each.family}.",),
            tuple(tables),
        ),
        Section(f"{each.name}: missed limits", points=missed, tone="warning"),
        Section(f"{each.name}: warnings", points=each.warnings, tone="warning"),
        Section(f"{each.name}: settings", points=(*settings, *each.notes, *supplements.streaming.notes)),
        Section(f"{each.name}: fallbacks and monitoring", points=(*each.fallbacks, *each.monitoring)),
    ]
    return [section for section in sections if section.tables or section.points]
