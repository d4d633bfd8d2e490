"""Conditions that ask for a GPU are told from all others."""

import ast

import pytest

from flyball_audit.guards import guards
from flyball_audit.on_gpu import on_gpu
from tests.audit.projects import module_of


@pytest.mark.parametrize(
    "test",
    [
        "torch.cuda.is_available()",
        "device == 'cuda'",
        "self.device.type == 'cuda'",
        "device != 'cpu'",
        "device != torch.device('cpu')",
        "'cuda' in str(device)",
        "str(device).startswith('cuda')",
        "'cpu' not in device",
        "x.is_cuda",
        "use_cuda",
        "args.gpu",
    ],
)
def test_what_holds_on_a_gpu(test: str) -> None:
    """By the device's name, by what is available, by flags of that name."""
    assert on_gpu(ast.parse(test, mode="eval").body) is True


@pytest.mark.parametrize("test", ["device == 'cpu'", "device.type != 'cuda'", "'cuda' not in device"])
def test_what_holds_on_the_host_alone(test: str) -> None:
    """The same the other way round."""
    assert on_gpu(ast.parse(test, mode="eval").body) is False


@pytest.mark.parametrize(
    "test",
    [
        "device == other",
        "args.gpu == 0",
        "gpu < 2",
        "name.startswith('x')",
        "f(device)",
        "is_ready()",
        "cudas",
        "a == 'mps'",
    ],
)
def test_what_asks_anything_else(test: str) -> None:
    """A GPU's number, another device, a name that is not known."""
    assert on_gpu(ast.parse(test, mode="eval").body) is None


@pytest.mark.parametrize(
    ("test", "kept"),
    [
        ("torch.cuda.is_available()", []),
        ("use_cuda and ready(x)", ["other"]),
        ("use_cuda or ready(x)", []),
        ("not use_cuda", ["rare"]),
        ("device == 'cpu' or step % 5 == 0", ["periodic"]),
        ("device == 'cuda' and step % 5 == 0", ["periodic"]),
    ],
)
def test_conditions_that_always_hold_thin_nothing_out(test: str, kept: list[str]) -> None:
    """What else they ask for counts."""
    _, module = module_of(f"import torch\nfor x in loader:\n    if {test}:\n        act(x)\n")

    (call,) = module.calls_named("act")
    assert [each.rarity.value for each in guards(module, call, module.loops[0])] == kept


def test_turns_that_a_host_without_a_gpu_skips_are_all_turns() -> None:
    """`if not torch.cuda.is_available(): continue` leaves out none where there is one."""
    _, module = module_of(
        "import torch\nfor x in loader:\n    if not torch.cuda.is_available():\n        continue\n    act(x)\n"
    )

    (call,) = module.calls_named("act")
    assert not guards(module, call, module.loops[0])
