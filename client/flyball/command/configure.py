"""`flyball configure`: three complete sets of numbers for a machine, with their data, processor and phases."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError
from flyball.command.limits import MOST_DAYS, MOST_DEVICES, finite
from flyball.command.output import CommandResult, FormOption, OutputOption, tell, write_new
from flyball.command.specifications import WRONG, HardwareFileOption, use_hardware

if TYPE_CHECKING:
    from flyball_planner.configurations.configuration import Configuration
    from flyball_reports.section import Section

EXAMPLE = "Examples: flyball configure RTX_4090_fp16; flyball configure H100 --devices 8 --write configurations/"


class Kind(StrEnum):
    """Which of the three."""

    CONSERVATIVE = "conservative"
    BALANCED = "balanced"
    EXTREME = "extreme"


class DiskKind(StrEnum):
    """Where the training's data lie."""

    NVME = "nvme"
    SSD = "ssd"
    HDD = "hdd"
    NETWORK = "network"


def configure(
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="As in flyball hardware --list.")],
    devices: Annotated[int, typer.Option(min=1, max=MOST_DEVICES, help="How many of them.")] = 1,
    kind: Annotated[Kind | None, typer.Option(help="Only one of the three.")] = None,
    disk: Annotated[DiskKind, typer.Option(help="Where the data lie.")] = DiskKind.NVME,
    days: Annotated[
        float, typer.Option(min=0.1, max=MOST_DAYS, callback=finite, help="The longest run that is proposed.")
    ] = 7.0,
    write: Annotated[Path | None, typer.Option("--write", "-w", help="Write each as a specification there.")] = None,
    format_: FormOption = None,
    output: OutputOption = None,
    hardware_file: HardwareFileOption = None,
) -> None:
    """Propose conservative, balanced and extreme configurations; every bound that cannot hold is stated."""
    from flyball_planner.catalogue.machines import machine
    from flyball_planner.configurations.bounds import ALL
    from flyball_planner.configurations.configure import configure as proposed
    from flyball_reports.errors import InputError

    use_hardware(hardware_file)
    kinds = tuple(bounds for bounds in ALL if kind is None or bounds.name == kind)
    try:
        found = proposed(machine(device, devices), kinds, longest_days=days)
    except InputError as error:
        raise CommandError(str(error), WRONG) from None
    if write is not None:
        write_new({write / f"{each.name}.yaml": each.specification for each in found})
    sections = tuple(section for each in found for section in _sections(each, disk))
    machine_words = f"{devices} × {found[0].device}" if devices > 1 else found[0].device
    tell(CommandResult(f"Configurations for {machine_words}", sections, _document(found, disk)), format_, output)


def _document(found: "tuple[Configuration, ...]", disk: DiskKind) -> list[dict[str, object]]:
    from flyball_planner.configurations.accompany import accompany

    return [{**to_builtins(each), **to_builtins(accompany(each, disk.value))} for each in found]


def _sections(each: "Configuration", disk: DiskKind) -> "list[Section]":
    from flyball_planner.configurations.accompany import accompany
    from flyball_planner.configurations.tables import (
        budgets_table,
        numbers_table,
        phases_table,
        processor_table,
        streaming_table,
    )
    from flyball_reports.section import Section

    with_it = accompany(each, disk.value)
    missed = tuple(
        f"{bound.bound}: {bound.reached} instead of {bound.wanted}; {bound.because}" for bound in each.missed
    )
    tables = [numbers_table(each), phases_table(with_it.phases), streaming_table(with_it.streaming)]
    tables.append(budgets_table(with_it.budgets))
    tables += [processor_table(with_it.processor)] if with_it.processor else []
    settings = tuple(f"{name}={value}" for name, value in each.settings)
    sections = [
        Section(
            each.name.capitalize(), (f"{each.purpose[:1].upper()}{each.purpose[1:]}; {each.family}.",), tuple(tables)
        ),
        Section(f"{each.name}: bounds that are missed", points=missed, tone="warning"),
        Section(f"{each.name}: warnings", points=each.warnings, tone="warning"),
        Section(f"{each.name}: settings", points=(*settings, *each.notes, *with_it.streaming.notes)),
        Section(f"{each.name}: when something goes wrong", points=(*each.fallbacks, *each.monitoring)),
    ]
    return [section for section in sections if section.tables or section.points]
