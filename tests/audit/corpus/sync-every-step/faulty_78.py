from torch import nn


class Trainer:
    """A library's engine is handed the loss; it is none itself."""

    def __init__(self, model, engine):
        self.model = model
        self.deepspeed = engine

    def train(self, loader, device):
        seen = 0.0
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(self.model(inputs.to(device)), labels.to(device))
            loss = self.deepspeed.backward(loss)
            if self.deepspeed:
                self.deepspeed.step()
            self.model.optimizer.step()
            seen += loss.item()  # expect: sync-every-step@note
        return seen


def fit(network, loader, optimizer, device="cuda"):
    """What `.numpy()` takes as it is lies on the host, whatever else the file speaks of."""
    predictions = []
    for inputs, labels in loader:
        output = network(inputs)
        loss = nn.functional.cross_entropy(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        predictions.extend(output.detach().numpy())
        print(loss.item(), output.max().item())  # expect: sync-every-step@note
    return predictions
