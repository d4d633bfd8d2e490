import requests
import torch
import torch.distributed as dist


class Server:
    """Holds a copy of the weights, and takes part in a group with the trainer."""

    def __init__(self, url, group):
        self.session = requests.Session()
        self.url = url
        self.group = group

    def update(self, name, weights):
        """The request has the other side join the broadcast: one goes with the other."""
        self.session.post(f"{self.url}/update", json={"name": name, "shape": list(weights.shape)})
        dist.broadcast(weights, src=0, group=self.group)


def train(model, loader, optimizer, server: Server):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        for name, weights in model.named_parameters():
            server.update(name, weights.data)
