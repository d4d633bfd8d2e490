"""`flyball validate FILE…`: whether specifications can be planned, and every fault with its line."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flyball.command.errors import CommandError
from flyball.command.output import PlainForm, PlainFormOption
from flyball.command.specifications import WRONG, HardwareFileOption, beside, read_text, use_hardware

EXAMPLE = "Examples: flyball validate run.yaml; flyball validate *.yaml --format json"


def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Specifications in YAML.")],
    format_: PlainFormOption = PlainForm.TABLE,
    hardware_file: HardwareFileOption = None,
) -> None:
    """Check specifications: every fault with its line, what was expected, and the nearest known name."""
    import json

    use_hardware(hardware_file)
    results = [_checked(path) for path in files]
    if format_ is PlainForm.JSON:
        typer.echo(json.dumps(results, indent=2))
    else:
        for result in results:
            for problem in result["problems"]:
                typer.echo(problem["told"])
            if result["valid"]:
                typer.echo(f"{result['file']}: can be planned")
    if not all(result["valid"] for result in results):
        raise typer.Exit(WRONG)


def _checked(path: Path) -> dict[str, Any]:
    from flyball_planner.specification.read import read_specification
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
            {"line": each.line or None, "key": each.key, "message": each.message, "told": each.told(str(path))}
            for each in problems
        ],
    }
