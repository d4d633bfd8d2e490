"""Which call made, on the host, what an expression gives."""

import ast

import pytest

from flyball_audit.creation import made_on_host
from tests.audit.projects import module_of

BEGIN = "import torch, numpy as np\nfrom torch.autograd import Variable\ndef step(self, n, x, data: torch.Tensor):\n"


def _made(body: str) -> str | None:
    """The call that made what `.to(device)` is called on, as text."""
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    project, module = module_of(BEGIN + lines)
    move = max(module.calls_named("to"), key=lambda each: each.lineno)
    assert isinstance(move.func, ast.Attribute)
    made = made_on_host(project, module, move.func.value)
    return None if made is None else ast.unparse(made)


@pytest.mark.parametrize(
    "body",
    [
        "torch.zeros(n).to(device)",
        "(torch.zeros(n) * 2 + self.low).clamp(0, 1).to(device)",
        "y = torch.zeros(n)\ny = (y == 0).unsqueeze(0)\ny.long().to(device)",
        "Variable(torch.zeros(n)).to(device)",
        "torch.triu(torch.zeros(n), diagonal=1)[None].to(device)",
        "with open(x):\n    y = torch.zeros(n)\ny.to(device)",
        "y: torch.Tensor = torch.zeros(n)\ny[:, 0] = 1\ny.to(device)",
        "torch.log(torch.zeros(n)).expand_as(data).to(device)",
        "torch.cat([torch.zeros(n), torch.ones(n)]).to(device)",
        "(torch.zeros(n) if x else torch.ones(n)).to(device)",
        "torch.nn.init.ones_(torch.zeros(n)).to(device)",
    ],
)
def test_shaping_scaling_and_masks_are_looked_through(body: str) -> None:
    """What only sizes and numbers went into was made by the first call."""
    assert _made(body) == "torch.zeros(n)"


@pytest.mark.parametrize(
    "body",
    [
        "torch.tensor(self.args.weights).to(device)",
        "torch.from_numpy(np.random.randn(n, 3)).to(device)",
        "torch.tensor(np.zeros(n).astype('f')).float().to(device)",
        "torch.from_numpy(2 * np.random.random_sample(n) - 1).to(device)",
        "torch.from_numpy(np.random.choice(2, n)).to(device)",
        "torch.FloatTensor([0.5, -1]).to(device)",
        "torch.tensor([0] * n).to(device)",
        "torch.Tensor(data.shape).to(device)",
        "torch.arange(data.max()).to(device)",
    ],
)
def test_arrays_of_sizes_and_chance_count_too(body: str) -> None:
    """NumPy makes them on the host for certain."""
    assert _made(body) is not None


@pytest.mark.parametrize(
    "body",
    [
        "data.to(device)",
        "(torch.zeros(n) + data).to(device)",
        "torch.tensor(x).to(device)",
        "torch.from_numpy(np.stack(x)).to(device)",
        "torch.zeros(n, device=x).to(device)",
        "y = data\nif x:\n    y = torch.zeros(n)\ny.to(device)",
        "y, z = torch.zeros(n)\ny.to(device)",
        "self.zeros(n).to(device)",
        "y = torch.zeros(n)\nfor i in x:\n    y[i] = data[i]\ny.to(device)",
        "y = torch.zeros(n)\ny.scatter_(1, data, 1)\ny.to(device)",
        "torch.tensor(self.rows).to(device)",
        "torch.FloatTensor(x).to(device)",
        "torch.cat([torch.zeros(n), data]).to(device)",
        "torch.from_numpy(np.random.choice(x, n)).to(device)",
        "y = torch.zeros(n)\nfor i in x:\n    y[i] = 1\ny.to(device)",
    ],
)
def test_data_and_what_is_made_elsewhere_have_no_such_call(body: str) -> None:
    """Data has to be copied; what is made on a device, or on one way alone, is no fault."""
    assert _made(body) is None


def test_functions_of_the_project_that_give_nothing_else_make_it_too() -> None:
    """The call of such a function stands for what it makes; one that gives data, or is kept, does not."""
    text = """
        import functools, torch
        def noise(n):
            return torch.randn(n)
        def rows(x):
            return torch.tensor(x)
        @functools.cache
        def table(n):
            return torch.arange(n)
        def step(n, x, device):
            noise(n).to(device), rows(x).to(device), table(n).to(device)
        """
    project, module = module_of(text)
    moves = sorted(module.calls_named("to"), key=lambda each: each.col_offset)
    made = [made_on_host(project, module, each.func.value) for each in moves if isinstance(each.func, ast.Attribute)]
    assert [each and ast.unparse(each) for each in made] == ["noise(n)", None, None]
