"""`flyball models`: the models that a specification can name, and their keys."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from flyball.command.errors import WrongArgument
from flyball.command.models_file import ModelsFileOption, use_models
from flyball.command.output import CommandResult, OutputOption, ResultFormatOption, write_result
from flyball.command.specifications import one_name

if TYPE_CHECKING:
    from flyball_planner.models.cost import ModelCost
    from flyball_planner.models.transformer.shape import TransformerShape

EXAMPLES = ("flyball models", "flyball models mlp", "flyball models --format json")


def models(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Show the keys of this model.")] = "",
    list_: Annotated[bool, typer.Option("--list", help="List all models; the default without a name.")] = False,
    details: Annotated[str, typer.Option("--details", metavar="NAME", help="The same as NAME.")] = "",
    format_: ResultFormatOption = None,
    output: OutputOption = None,
    models_file: ModelsFileOption = None,
) -> None:
    """List the models that a specification can name, or show the keys of one."""
    wanted = one_name(name, details, list_=list_)
    use_models(models_file)
    write_result(_details(wanted) if wanted else _list(), format_, output)


def _list() -> CommandResult:
    from flyball_planner.models.any_configuration import known_names, named_subject
    from flyball_planner.models.cost import ModelCost
    from flyball_planner.models.families import all_families
    from flyball_planner.models.transformer.counts import parameters
    from flyball_reports.figures import count
    from flyball_reports.section import ReportTable, Section

    families = all_families()
    subjects = {name: named_subject(name) for name in known_names()}
    sizes = {
        name: each.parameters if isinstance(each, ModelCost) else parameters(each).total
        for name, each in subjects.items()
    }
    rows = tuple((family.name, family.summary) for family in families)
    known = tuple((name, count(size)) for name, size in sizes.items())
    sections = (
        Section("Models with keys", tables=(ReportTable(rows, ("Name", "Description")),)),
        Section("Well-known models", tables=(ReportTable(known, ("Name", "Parameters"), (1,)),)),
        Section(
            "Others",
            points=(
                "any Hugging Face configuration: huggingface: path/to/config.json",
                "your own transformer: shape: {layers: …, hidden: …, heads: …, vocab: …}",
                "in Python: register_model(), and trace_module() for any torch.nn.Module",
            ),
        ),
    )
    document = {
        "models": [{"name": family.name, "summary": family.summary} for family in families],
        "transformers": [{"name": name, "parameters": size} for name, size in sizes.items()],
    }
    return CommandResult("Models", sections, document)


def _details(name: str) -> CommandResult:
    from flyball_planner.models.any_configuration import known_names, named_subject
    from flyball_planner.models.families import known_family, model_names, specification_keys
    from flyball_planner.models.similar_names import model_question
    from flyball_reports.errors import InputError
    from flyball_reports.section import ReportTable, Section

    family = known_family(name)
    if family is None:
        try:
            return _known_details(name, named_subject(name))
        except InputError:
            hint = model_question(name, (*model_names(), *known_names()))
            ended = "" if hint.endswith("?") else "; `flyball models` lists all"
            raise WrongArgument(f"there is no model named {name!r}; {hint}{ended}") from None
    keys = specification_keys(family.name)
    rows = tuple(
        (key.name, key.expected, "required" if key.required else _default(key.default), key.meaning) for key in keys
    )
    section = Section("", (family.summary,), (ReportTable(rows, ("Key", "Expected", "Default", "Meaning")),))
    document: dict[str, Any] = {
        "name": family.name,
        "summary": family.summary,
        "keys": [
            {
                "name": key.name,
                "expected": key.expected,
                "required": key.required,
                "default": key.default,
                "meaning": key.meaning,
            }
            for key in keys
        ],
    }
    return CommandResult(family.name, (section,), document)


def _default(value: object) -> str:
    """Return a default as a specification has it: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _known_details(name: str, subject: "TransformerShape | ModelCost") -> CommandResult:
    from msgspec import to_builtins

    from flyball_planner.models.cost import ModelCost
    from flyball_planner.models.transformer.counts import parameters
    from flyball_reports.section import ReportTable, Section

    if isinstance(subject, ModelCost):
        facts = (("parameters", f"{subject.parameters:,}"), ("implementation", subject.implementation))
        document: dict[str, Any] = {"name": name, "parameters": subject.parameters}
        return CommandResult(name, (Section("", tables=(ReportTable(facts),)),), document)
    counts = parameters(subject)
    dimensions = {key: value for key, value in to_builtins(subject).items() if value not in (None, "", 0, False)}
    rows = (
        ("parameters", f"{counts.total:,}"),
        ("active parameters", f"{counts.active:,}"),
        *((key.replace("_", " "), str(value)) for key, value in dimensions.items()),
    )
    document = {
        "name": name,
        "parameters": counts.total,
        "active_parameters": counts.active,
        "shape": to_builtins(subject),
    }
    return CommandResult(name, (Section("", tables=(ReportTable(rows),)),), document)
