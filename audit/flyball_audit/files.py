"""Which files hold code whose speed concerns anybody: PyTorch's, and no unit tests."""

import ast
import re
from itertools import islice

from flyball_audit.module import Module

FOREIGN = frozenset({"tensorflow", "jax", "paddle", "mxnet", "tinygrad", "megengine", "oneflow"})
"""Frameworks whose code looks like PyTorch's and means something else."""

_TEST_TOOLS = re.compile(r"^[ \t]*(import|from) +(unittest|pytest)\b", re.MULTILINE)
_TEST_NAMES = re.compile(r"^test(_|[A-Z]|$)")
_TEST_FILE = re.compile(r"(^|[/\\])test_[^/\\]*$|_test\.py$")

_TEST_FOLDER = re.compile(r"(^|[/\\])(tests?|testing)[/\\]([^/\\]*[/\\])*(test_[^/\\]*|[^/\\]*_test(_case)?)\.py$")

SEVERAL_TESTS = 2
"""Functions that are called a test and assert something: a file so called that has as many holds tests, whatever runs
them. One alone may be a trainer's `test`."""


def is_torch_code(module: Module) -> bool:
    """Whether loops of a file may be PyTorch's: no other framework is in it, or PyTorch is too."""
    return not module.frameworks & FOREIGN or "torch" in module.frameworks


def is_test_code(module: Module) -> bool:
    """Whether a file holds unit tests: how fast their few steps are is nobody's concern."""
    if _TEST_FOLDER.search(module.path):
        return True
    by_tools = module.says_any(("unittest", "pytest")) and module.says(_TEST_TOOLS)
    by_name = _TEST_FILE.search(module.path) is not None
    if not by_tools and not by_name:
        return False  # said before functions are asked for: most files need not be indexed at all
    named = [each for each in module.functions if _TEST_NAMES.match(each.name)]
    asserting = (each for each in named if module.within(each, ast.Assert))
    return bool(by_tools and named) or (by_name and len(list(islice(asserting, SEVERAL_TESTS))) == SEVERAL_TESTS)
