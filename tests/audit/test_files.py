"""Files whose speed concerns nobody are known: other frameworks', and unit tests."""

import ast

import pytest

from flyball_audit.files import is_test_code, is_torch_code
from flyball_audit.module import Module
from tests.audit.projects import project_of

TWO = "def test_one():\n    assert run()\ndef test_two():\n    assert run()\n"
ONE = "def test(model, loader):\n    assert loader\n    model(loader)\n"


def _module(path: str, text: str) -> Module:
    (module,) = project_of({path: text}).modules.values()
    assert isinstance(module.tree, ast.Module)
    return module


@pytest.mark.parametrize(
    ("path", "text", "tests"),
    [
        ("check.py", f"import pytest\n{TWO}", True),
        ("test_sync.py", TWO, True),
        ("scripts/sync_test.py", TWO, True),
        ("sync.py", TWO, False),
        ("test_model.py", ONE, False),
        ("test_model.py", "def test_epoch():\n    run()\ndef test_all():\n    run()\n", False),
        ("contest_run.py", TWO, False),
        ("kit/tests/training/sync_test.py", "class Check(Case):\n    def test_all(self):\n        run()\n", True),
        ("kit/testing/model_test_case.py", "def ensure():\n    run()\n", True),
        ("tests/train.py", ONE, False),
    ],
)
def test_unit_tests_are_told_from_a_trainers_test(path: str, text: str, tests: bool) -> None:
    """By their tools, or by the file's name and several functions that assert."""
    assert is_test_code(_module(path, text)) is tests


def test_pytorch_beside_another_framework_counts() -> None:
    """A file that uses both trains with PyTorch."""
    assert not is_torch_code(_module("train.py", "import paddle\n"))
    assert is_torch_code(_module("train.py", "import paddle\nimport torch\n"))
