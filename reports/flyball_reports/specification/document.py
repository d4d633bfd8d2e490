"""Reads YAML, JSON and TOML into values that know their lines, with limits because a file may come from anyone."""

import re
from pathlib import PurePath

import yaml

from flyball_reports.specification.problems import Problem, SpecificationError
from flyball_reports.specification.source_value import SourceValue
from flyball_reports.specification.value_builder import ValueBuilder

MOST_CHARACTERS = 1_000_000  # a specification has a few hundred
YAML, JSON, TOML = "YAML", "JSON", "TOML"
KINDS = {".json": JSON, ".toml": TOML}


def read_document(text: str, file: str = "specification", example: str = "model") -> SourceValue:
    """Read the top-level keys of a text: YAML, or as the suffix of `file` is. Messages mention `example` as a key.

    The text must be a mapping; an empty text is an empty one. Raises `SpecificationError`.
    """
    if len(text) > MOST_CHARACTERS:
        raise SpecificationError([Problem(0, "", f"longer than {MOST_CHARACTERS:,} characters")], file)
    kind = KINDS.get(PurePath(file).suffix.casefold(), YAML)
    if kind == TOML:
        from flyball_reports.specification.toml_document import read_toml  # noqa: PLC0415  rarely needed

        return read_toml(text, file)
    if kind == JSON:
        text = text.replace("\t", " ")  # JSON is YAML except for tabs, which its texts cannot contain
    if control := yaml.reader.Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, control.start()) + 1
        what = f"not valid {kind}: control character U+{ord(control[0]):04X}; remove it"
        raise SpecificationError([Problem(line, "", what)], file)
    try:
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        entry = ValueBuilder().build(events) or SourceValue({}, 1)
    except yaml.MarkedYAMLError as error:
        raise SpecificationError([_syntax(error, text, kind)], file) from None
    except yaml.YAMLError as error:
        raise SpecificationError([Problem(0, "", f"not valid {kind}: {' '.join(str(error).split())}")], file) from None
    if not isinstance(entry.value, dict):
        raise SpecificationError(
            [Problem(entry.line, "", f"expected keys such as {example}: …, not {entry.description()}")], file
        )
    return entry


def _syntax(error: yaml.MarkedYAMLError, text: str, kind: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    indent = re.match(r"\s*", "".join(text.splitlines()[max(0, line - 1) : line]))
    hint = "; YAML indents with spaces, not tabs" if indent and "\t" in indent[0] else ""
    fault = str(error.problem or error)
    if error.context and fault.startswith("but "):  # the second half of a sentence
        fault = f"{error.context} {fault}"
    return Problem(line, "", f"not valid {kind}: {fault}{hint}")
