"""What settings are by default, where code declares them."""

import ast

import pytest

from flyball_audit.declared import declared
from tests.audit.projects import module_of


def _told(code: str) -> list[str]:
    project, module = module_of(code)
    return [ast.unparse(each) for _, each in declared(project, module, "num_workers")]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("parser.add_argument('--num-workers', '-j', type=int, default=0)\n", ["0"]),
        ("parser.add_argument('-j', dest='num_workers', default=4)\n", ["4"]),
        ("@click.option('--num_workers', default=0)\ndef main(num_workers): ...\n", ["0"]),
        ("flags.DEFINE_integer('num_workers', 0, 'processes')\n", ["0"]),
        ("class Settings:\n    num_workers: int = 0\n", ["0"]),
        ("class Settings:\n    num_workers = 2\n", ["2"]),
        ("settings.data.num_workers = count()\n", ["count()"]),
        ("class Settings:\n    num_workers: int = 0\nUSUAL = Settings(num_workers=8)\n", ["0", "8"]),
    ],
)
def test_a_default_is_found_where_it_is_declared(code: str, told: list[str]) -> None:
    """On a command line, in a table of flags, in a class; what is put in its place counts as well."""
    assert _told(code) == told


def test_what_has_no_default_may_be_anything() -> None:
    """An argument that must be given, or one whose default nobody names."""
    assert _told("parser.add_argument('--num-workers', required=True)\n") == [""]
    assert _told("class Settings:\n    num_workers: int\n") == [""]


def test_others_are_not_meant() -> None:
    """A variable of a function, an argument handed on, or a setting that is called otherwise."""
    assert _told("num_workers = 8\nbuild(num_workers=given)\nparser.add_argument('--workers', default=0)\n") == []
