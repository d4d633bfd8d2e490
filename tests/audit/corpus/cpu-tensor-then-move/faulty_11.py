import numpy as np
import torch
from torch import nn

cuda = torch.cuda.is_available()
Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor


def train(generator, critic, loader, optimizer, width):
    for images in loader:
        noise = Tensor(np.random.normal(0, 1, (images.shape[0], width)))  # expect: cpu-tensor-then-move
        loss = critic(generator(noise)).mean()
        loss.backward()
        optimizer.step()


class Splat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, points, size):
        ctx.device = points.device
        canvas = torch.FloatTensor(points.shape[0], size, size).fill_(1.0).to(device=ctx.device)  # expect: cpu-tensor-then-move@note
        return canvas

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def sum_by_group(values, groups, count):
    if groups.dim() == 1:
        width = torch.prod(torch.tensor(values.shape[1:])).long().cuda()  # expect: cpu-tensor-then-move@note
        groups = groups.repeat_interleave(width).view(groups.shape[0], *values.shape[1:])
    shape = [count, *values.shape[1:]]
    return torch.zeros(*shape).cuda().scatter_add(0, groups, values)  # expect: cpu-tensor-then-move@note


@torch.no_grad()
def validate(model: nn.Module, loader, device):
    model.eval()
    right = 0
    for x in loader:
        scores = model(x.to(device))
        labels = torch.arange(scores.size(0)).to(device)  # expect: cpu-tensor-then-move@note
        right += (scores.argmax(1) == labels).sum()
    return right
