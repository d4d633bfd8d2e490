"""Reads YAML into values that know their lines, with limits because a file may come from anyone."""

import re
from typing import cast

import yaml

from flyball_reports.specification.problems import Problem, SpecificationError
from flyball_reports.specification.source_value import Scalar, SourceValue

MOST_CHARACTERS = 1_000_000  # a specification has a few hundred
MOST_VALUES = 20_000  # so that aliases of aliases cannot fill the memory
DEEPEST = 20

_PLAIN = "tag:yaml.org,2002:"
_RESOLVED_TAGS = {_PLAIN + name for name in ("int", "float", "bool", "null")}


def read_document(text: str, file: str = "specification", example: str = "model") -> SourceValue:
    """Read the top-level keys of a YAML text. Messages mention `example` as an example of a key.

    The text must be a mapping; an empty text is an empty one. Raises `SpecificationError`.
    """
    if len(text) > MOST_CHARACTERS:
        raise SpecificationError([Problem(0, "", f"longer than {MOST_CHARACTERS:,} characters")], file)
    try:
        node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        entry = _Reader().entry(node, _line(node), depth=0) if node is not None else SourceValue({}, 1)
    except yaml.MarkedYAMLError as error:
        raise SpecificationError([_syntax(error, text)], file) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise SpecificationError([Problem(0, "", f"not valid YAML: {' '.join(str(error).split())}")], file) from None
    if not isinstance(entry.value, dict):
        raise SpecificationError(
            [Problem(entry.line, "", f"expected keys such as {example}: …, not {entry.description()}")], file
        )
    return entry


class _Reader:
    """Converts nodes to values and counts them."""

    def __init__(self) -> None:
        self.values = 0

    def entry(self, node: yaml.Node, line: int, depth: int) -> SourceValue:
        self.values += 1
        if depth > DEEPEST or self.values > MOST_VALUES:
            raise yaml.MarkedYAMLError(problem="nested too deeply or too large", problem_mark=node.start_mark)
        if isinstance(node, yaml.MappingNode):
            return SourceValue(self._mapping(node, depth), line)
        if isinstance(node, yaml.SequenceNode):
            return SourceValue([self.entry(each, _line(each), depth + 1) for each in node.value], line)
        return SourceValue(_scalar(cast("yaml.ScalarNode", node)), line)

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, SourceValue]:
        found: dict[str, SourceValue] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(
                    problem="a key must be a plain scalar, not a list or a group", problem_mark=key.start_mark
                )
            if key.value in found:
                first = found[key.value].line
                raise yaml.MarkedYAMLError(
                    problem=f"duplicate key {key.value!r} (first on line {first}); keep one of them",
                    problem_mark=key.start_mark,
                )
            found[key.value] = self.entry(value, _line(key), depth + 1)
        return found


def _scalar(node: yaml.ScalarNode) -> Scalar:
    if node.tag not in _RESOLVED_TAGS:
        return str(node.value)
    try:
        return cast("Scalar", yaml.constructor.SafeConstructor().construct_object(node))
    except ValueError:  # an explicit tag such as !!int that does not fit
        return str(node.value)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _syntax(error: yaml.MarkedYAMLError, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    indent = re.match(r"\s*", "".join(text.splitlines()[max(0, line - 1) : line]))
    hint = "; YAML indents with spaces, not tabs" if indent and "\t" in indent[0] else ""
    fault = str(error.problem or error)
    if error.context and fault.startswith("but "):  # the second half of a sentence
        fault = f"{error.context} {fault}"
    return Problem(line, "", f"not valid YAML: {fault}{hint}")
