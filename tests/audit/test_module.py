"""One file's tree, indexed: imports, calls by name, what its text says."""

import ast

from tests.audit.projects import module_of

TEXT = """
import os, sys as system
if True:
    from a import b as c
def work(values):
    try:
        from d import *
    except ImportError:
        import e.f
    for value in values:
        match value:
            case 1:
                import g
    return first.second.step(values[0](), step())
"""


def test_imports_are_found_wherever_they_stand() -> None:
    """In conditions, functions, handlers and cases; in the order of the text, and the same as the index holds."""
    _, module = module_of(TEXT)
    names = [each.name for found in module.imports for each in found.names]
    assert names == ["os", "sys", "b", "*", "e.f", "g"]
    indexed = (*module.all(ast.Import), *module.all(ast.ImportFrom))
    assert set(module.imports) == set(indexed)


def test_calls_are_found_by_the_last_part_of_their_name() -> None:
    """Of a dotted name and a plain one; what is called without a name has none."""
    _, module = module_of(TEXT)
    assert sorted(ast.unparse(each.func) for each in module.calls_named("step", "absent")) == [
        "first.second.step",
        "step",
    ]
    assert set(module.called_names) == {"step", ""}


def test_one_of_some_texts_is_enough() -> None:
    """They are looked for as they are written, in the middle of words too."""
    _, module = module_of(TEXT)
    assert module.says_any(("nowhere", "second.st"))
    assert not module.says_any(("nowhere", "Step"))
    assert not module.says_any(())


def test_code_is_quoted_on_one_line_without_its_comments() -> None:
    """As it stands where it is on one line; what is long is cut."""
    _, module = module_of('send(  # to all\n    url,\n    "été",  # later\n)\nx = f("é",  1)\n')
    many, one = module.calls_named("send"), module.calls_named("f")
    assert [module.quote(each) for each in (*many, *one)] == ["send(url, 'été')", 'f("é", 1)']
