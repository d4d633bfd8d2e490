import torch


def train_ranker(ranker, train_data, device):
    """What trains for each batch is not at hand: it is handed them, and called so."""
    total = 0.0
    for query, rankings, labels in train_data:
        loss, stop = ranker.train(rankings.to(device), labels.to(device), query)
        if stop:
            break
        total += loss.item()  # expect: sync-every-step@note
    return total


class Critic:
    def update(self, values, targets):
        loss = torch.nn.functional.mse_loss(values, targets)
        self.writer.add_loss("critic", loss.detach())  # expect: sync-every-step@note
        loss.backward()
        self.optimizer.step()


def forward_masked_rnn(inputs, masks, state, rnn):
    """A forward pass by itself, which no file here calls."""
    ends = (
        (masks[:, 1:] == 0)
        .any(dim=0)
        .nonzero()
        .squeeze()
        .cpu()  # expect: sync-every-step@note
    )
    return [rnn(inputs[:, end], state) for end in ends]
