"""A module's own parts, one after the other: whoever calls the method decides on history."""

from torch import nn


class Flow(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.steps = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def infer_state(self, state):
        for step, gate in zip(self.steps, self.gates):
            state = step(state) * gate(state)
        return state

    def eval_block(self, state):
        for number, _ in enumerate(self.steps):
            state = self.steps[number](state)
        return state

    def predict_kinds(self, state):
        for number in range(len(self.steps)):
            state = self.steps[number](state)
        return state
