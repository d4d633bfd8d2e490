"""`flyball validate FILE…`: the faults of specifications, with their lines."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.models_file import ModelsFileOption, use_models
from flyball.command.output import FormatOption, OutputFormat, write_json
from flyball.command.specifications import HardwareFileOption, beside, read_text, use_hardware

EXAMPLES = ("flyball validate run.yaml", "flyball validate *.yaml --format json")


def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Specifications in YAML, JSON or TOML.")],
    format_: FormatOption = OutputFormat.TABLE,
    hardware_file: HardwareFileOption = None,
    models_file: ModelsFileOption = None,
) -> None:
    """Check specification files. Each fault is listed with its line and what was expected there."""
    use_hardware(hardware_file)
    use_models(models_file)
    results = [_checked(path) for path in files]
    if format_ is OutputFormat.JSON:
        write_json(results)
    else:
        for result in results:
            for problem in result["problems"]:
                typer.echo(problem["text"])
            if result["valid"]:
                typer.echo(f"{result['file']}: valid")
    if not all(result["valid"] for result in results):
        raise typer.Exit(WrongArgument.status)


def _checked(path: Path) -> dict[str, Any]:
    from flyball_planner.specification.reader import read_specification
    from flyball_reports.specification.problems import Problem, SpecificationError

    problems: tuple[Problem, ...] = ()
    try:
        text = read_text(path)
        read_specification(text, str(path), beside(path))
    except SpecificationError as error:
        problems = error.problems
    except CommandError as error:
        problems = (Problem(0, "", str(error)),)
    return {
        "file": str(path),
        "valid": not problems,
        "problems": [
            {"line": each.line or None, "key": each.key, "message": each.message, "text": each.located(str(path))}
            for each in problems
        ],
    }
