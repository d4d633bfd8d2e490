"""Branches and options that nobody asks for."""

import ast

import pytest

from flyball_audit.module import last_name
from flyball_audit.regions import Region, reached
from flyball_audit.unasked import is_off_by_default, is_off_setting, is_unasked
from tests.audit.projects import module_of

STEP = """
def inner(x, log):
    {inner}
def step(x, number=0, log=False):
    {step}
for x in range(9):
    {call}
"""


def _is_unasked(step: str, call: str, inner: str = "pass") -> bool:
    project, module = module_of(STEP.format(step=step, call=call, inner=inner))
    regions = reached(project, Region(module, module.loops[0]))
    return next(
        is_unasked(region, each)
        for region in regions
        for each in region.all(ast.Call)
        if last_name(each) == "mark"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("step", "call", "unasked"),
    [
        ("mark() if log else None", "step(x)", True),
        ("mark() if log else None", "step(x, log=True)", False),
        ("mark() if log else None", "step(x, 1, True)", False),
        ("mark() if log else None", "step(x, log=x)", False),
        ("mark() if log else None", "step(x, **x)", False),
        ("None if not log else mark()", "step(x)", True),
        ("None if log else mark()", "step(x)", False),
        ("mark() if log and x else None", "step(x)", True),
        ("mark() if log or x else None", "step(x)", False),
        ("log = x\n    if log: mark()", "step(x)", False),
        ("if not log: return x\n    mark()", "step(x)", True),
        ("if log: return x\n    mark()", "step(x)", False),
    ],
)
def test_a_constant_of_the_call_decides_on_a_branch(step: str, call: str, unasked: bool) -> None:
    """Given or by default; what is not seen may be anything."""
    assert _is_unasked(step, call) is unasked


def test_an_argument_is_followed_to_the_call_above() -> None:
    """`step` hands on what it was left."""
    assert _is_unasked("inner(x, log)", "step(x)", "mark() if log else None")
    assert not _is_unasked("inner(x, log)", "step(x, log=True)", "mark() if log else None")


KEPT = """
def begin(self, cfg):
    self.norms = cfg.get("norms", False)
    self.sums = cfg.get("sums", True)
    self.others = cfg.get("others", False)
    self.others = cfg.ask("others")
"""

LAYER = """
class Layer:
    def __init__(self, width, causal={default}):
        self.causal = causal
    def forward(self, x):
        if self.causal:
            mark(x)
{use}
"""


@pytest.mark.parametrize(
    ("default", "use", "off"),
    [
        ("False", "", True),
        ("False", "Layer(3)", True),
        ("False", "Layer(3, False)", True),
        ("False", "Layer(3, True)", False),
        ("False", "Layer(3, causal=given)", False),
        ("False", "Layer(**given)", False),
        ("False", "Stack(causal=True)", False),
        ("True", "Layer(3)", False),
    ],
)
def test_an_option_is_off_that_no_file_asks_for(default: str, use: str, off: bool) -> None:
    """By its name anywhere, or by its place where the class is made."""
    project, module = module_of(LAYER.format(default=default, use=use))
    (call,) = module.calls_named("mark")
    (region,) = reached(project, Region(module, module.functions[1]))
    assert is_off_by_default(project, region, call) is off


@pytest.mark.parametrize(
    ("test", "off"),
    [
        ('cfg.get("norms", False)', True),
        ('cfg.get("norms", True)', False),
        ('not self.config.get("quiet", False)', False),
        ('not self.config.get("quiet", True)', True),
        ('getattr(args, "norms", 0) and x', True),
        ('x and cfg.get("norms", False) and y', True),
        ("self.norms", True),
        ("not self.norms", False),
        ("self.sums", False),
        ("self.others", False),
        ('cfg.get("shown", "smooth") == "batch"', True),
        ('cfg.get("shown", "smooth") != "smooth"', True),
        ('cfg.get("shown", "batch") == "batch"', False),
        ('opt.get("file", None) is not None', True),
        ('train_cfg.get("file", None) is None', False),
        ('batch.get("mask", None) is not None', False),
        ('getattr(output, "loss", None) is not None', False),
        ('cfg.get("every", 0) < x', False),
        ('cfg.get("norms", default)', False),
        ('cfg.get("norms")', False),
        ('not getattr(args, "quiet")', False),
        ('get("norms", False)', False),
        ('kwargs.get("return_loss", False)', True),
    ],
)
def test_a_setting_is_off_whose_default_says_so(test: str, off: bool) -> None:
    """What lies in a batch, or a model gives, is no setting; nor does a default say how two numbers compare."""
    _, module = module_of(f"{KEPT}def step(self, x, cfg):\n    if {test}:\n        mark(x)\n")
    (call,) = module.calls_named("mark")
    assert is_off_setting(Region(module, module.functions[-1]), call) is off


@pytest.mark.parametrize(
    ("code", "off"),
    [
        ('cfg.get("norms", False) and mark(x)', True),
        ('cfg.get("norms", False) or mark(x)', False),
        ('cfg.get("quiet", True) or mark(x)', True),
    ],
)
def test_a_setting_decides_in_one_expression_too(code: str, off: bool) -> None:
    """Behind `and` it must hold, behind `or` it must not."""
    _, module = module_of(f"def step(x, cfg):\n    return {code}\n")
    (call,) = module.calls_named("mark")
    assert is_off_setting(Region(module, module.functions[0]), call) is off
