import torch

from graphbench import data


class Engine:
    """The package has a loader of its own, derived from PyTorch's in all likelihood."""

    def __init__(self, samples, num_worker=0):
        self.samples = samples
        self.num_worker = num_worker

    def train(self, model, optimizer):
        loader = data.DataLoader(self.samples, 32, num_workers=self.num_worker)  # expect: loader-without-workers
        for batch in loader:
            loss = model(batch)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        torch.save(model.state_dict(), "model.pt")
