"""Steps of optimizers that are compiled: what Dynamo sees must be what it sees without the hooks."""

from collections.abc import Callable

import torch
from torch._dynamo.utils import counters
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks


class Descent(torch.optim.Optimizer):
    """An optimizer that can be compiled as one graph."""

    def __init__(self, parameters: list[torch.nn.Parameter]) -> None:
        super().__init__(parameters, {})

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Go down."""
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.add_(parameter.grad, alpha=-0.1)
        return closure() if closure else None


def compiled_steps() -> tuple[str, int, dict[str, int]]:
    """Step compiled optimizers. Return the result exactly, the number of splits of a graph, and that of graphs."""
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(4))
    for optimizer, full in ((Descent([weight]), True), (torch.optim.SGD([weight], lr=0.1), False)):
        compiled = torch.compile(optimizer.step, backend="eager", fullgraph=full)
        for _ in range(4):
            optimizer.zero_grad()
            weight.square().sum().backward()
            compiled()
    return weight.sum().item().hex(), sum(counters["graph_break"].values()), dict(counters["stats"])


def main() -> None:
    """Print True if all is the same without the hooks, and step an ordinary optimizer."""
    hooks = (_global_optimizer_pre_hooks, _global_optimizer_post_hooks)
    kept = [dict(each) for each in hooks]
    assert all(kept)
    found = compiled_steps()
    for each in hooks:
        each.clear()
    print(compiled_steps() == found)
    for each, saved in zip(hooks, kept, strict=True):
        each.update(saved)
    ordinary = torch.optim.SGD([torch.nn.Parameter(torch.ones(4))], lr=0.1)
    for _ in range(3):
        ordinary.step()


if __name__ == "__main__":
    main()
