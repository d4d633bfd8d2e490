import numpy as np
import torch

Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
Host = torch.FloatTensor


def train(generator, critic, loader, optimizer, width):
    fixed = Tensor(np.random.normal(0, 1, (8, width)))
    for images in loader:
        sizes = Host(np.zeros(3))
        noise = Tensor(images.shape[0], width).normal_()
        loss = critic(generator(noise + fixed.mean())).mean() * sizes.numel()
        loss.backward()
        optimizer.step()


class Splat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, points, size):
        return torch.full((points.shape[0], size, size), 1.0, device=points.device)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def build_table(example, count):
    return torch.arange(count).to(example.device)


def label(paths, count):
    return torch.zeros(count).cuda()
