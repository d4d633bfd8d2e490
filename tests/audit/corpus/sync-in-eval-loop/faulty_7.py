"""Steps of validation that a trainer's loop, which is not here, asks for."""

import numpy as np
import torch


class Trainer:
    def __init__(self, network, loss):
        self.network, self.loss = network, loss

    def validation_step(self, batch):
        data, target = batch["data"].to("cuda"), batch["target"].to("cuda")
        output = self.network(data)
        loss = self.loss(output, target)
        hits = (output.argmax(1) == target).sum(0)
        return {
            "loss": loss.detach().cpu().numpy(),  # expect: sync-in-eval-loop@note
            "hits": hits.detach().cpu().numpy(),  # expect: sync-in-eval-loop@note
        }

    def predict_step(self, batch):
        return self.network(batch["data"].to("cuda")).cpu().numpy()


class Mixed:
    def __init__(self, net):
        self.net = net

    def eval_batch(self, batch, criterion):
        with torch.no_grad():
            return criterion(self.net(batch[0]), batch[1]).cpu().item()  # expect: sync-in-eval-loop@note


def fit(net, criterion, train_x, test_x, test_y, batch_size):
    for epoch in range(3):
        total = 0.0
        for start in range(0, len(test_x), batch_size):
            with torch.no_grad():
                net.eval()
                out = net(test_x[start : start + batch_size].cuda())
                total += criterion(out, test_y[start : start + batch_size].cuda()).item()  # expect: sync-in-eval-loop@note
        print(total)
