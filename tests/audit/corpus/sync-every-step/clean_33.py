"""What PyTorch says of itself and of its values is a truth value of Python, in whatever module it is asked."""

import torch


def exports():
    return torch.onnx.is_in_onnx_export()


class Scatter(torch.nn.Module):
    def forward(self, x, index):
        if not exports() and torch.distributions.constraints.is_dependent(x):
            return x.cuda().new_zeros(8).scatter_add(0, index, x)
        return x


def fit(module, loader, optimizer):
    module = module.cuda()
    for x, index in loader:
        loss = module(x.cuda(), index.cuda()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
