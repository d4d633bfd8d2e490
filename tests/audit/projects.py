"""Projects made of texts, as the audit's tests read them."""

import ast
from collections.abc import Mapping
from textwrap import dedent

from flyball_audit.flow.values import Value
from flyball_audit.module import Module
from flyball_audit.project import Project
from flyball_audit.source import Source, parse


def project_of(files: Mapping[str, str]) -> Project:
    """A project of files by path; each must parse."""
    sources = [Source(path, dedent(text)) for path, text in files.items()]
    parsed = []
    for source in sources:
        tree = parse(source)
        assert isinstance(tree, ast.Module), tree
        parsed.append((source, tree))
    return Project(parsed)


def module_of(text: str) -> tuple[Project, Module]:
    """A project of one file, `train.py`, and its module."""
    project = project_of({"train.py": text})
    return project, project.modules["train"]


def value_of(project: Project, module: Module, code: str) -> Value:
    """The value of the last expression in a module that reads like that."""
    found = [each for each in ast.walk(module.tree) if isinstance(each, ast.expr) and ast.unparse(each) == code]
    assert found, f"{code} is not in {module.path}"
    last = max(found, key=lambda each: (each.lineno, each.col_offset))
    return project.flow.value(module, last)


def given(preamble: str, code: str) -> Value:
    """What an expression gives after a preamble that says `{code}` where it stands; without where it was made."""
    project, module = module_of(preamble.format(code=code))
    return value_of(project, module, code)._replace(made_by=None, made_at=None, made_in=())
