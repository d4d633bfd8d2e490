import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from tools import to_numpy


class Fitter:
    def __init__(self, net: nn.Module, folder=None, device="cuda"):
        self.device = device
        self.net = net.to(device)
        self.adam = torch.optim.Adam(net.parameters())
        self.summary_writer = SummaryWriter(folder) if folder else None
        self.step = 0

    def epoch(self, loader, summary_freq=100):
        for x, y in loader:
            loss = nn.functional.mse_loss(self.net(x.to(self.device)), y.to(self.device))
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            if self.summary_writer is not None and self.step % summary_freq == 0:
                self.summary_writer.add_scalar("loss", loss.item(), self.step)
            kept = loss.detach().to(device="cpu", non_blocking=True)
            names = to_numpy(["loss", "kept"])
            self.step += len(names) - 1
        return kept
