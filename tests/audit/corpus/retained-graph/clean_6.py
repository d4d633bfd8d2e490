import torch
from torch import nn
from torch.distributions import Categorical


class Player(nn.Module):
    def __init__(self, heads: int):
        super().__init__()
        self.trunk = nn.Linear(8, 64)
        self.heads = nn.ModuleList(nn.Linear(64, 4) for _ in range(heads))

    def forward(self, state: torch.Tensor):
        """Lists begin anew in each call, with their types told or not."""
        choices: list[Categorical] = []
        scores: list[torch.Tensor] = []
        for head in self.heads:
            choices.append(Categorical(logits=head(self.trunk(state))))
            scores.append(choices[-1].log_prob(choices[-1].sample()))
        return torch.stack(scores)


def train(player: Player, loader, optimizer):
    player.cuda()
    for states in loader:
        loss = player(states.cuda(non_blocking=True)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
