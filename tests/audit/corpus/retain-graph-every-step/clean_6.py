import torch
from torch import nn


class Twice(nn.Module):
    """The one graph is differentiated twice: the first pass must keep it."""

    def backward_pass(self, y1, y2, dy1, dy2):
        with torch.enable_grad():
            y1.requires_grad = True
            shared = self.trunk(y1)
            left = self.f(shared)
            right = self.g(shared)
            left.backward(dy1, retain_graph=True)
            right.backward(dy2)
        return y1.grad

    def again(self, y, dy):
        with torch.enable_grad():
            out = self.f(y)
            out.backward(dy, retain_graph=True)
            (second,) = torch.autograd.grad(out, y, dy)
        return second

    def given(self, y, dy):
        """The graph is the caller's, who may need it again."""
        y.backward(dy, retain_graph=True)


class Blocks(torch.autograd.Function):
    @staticmethod
    def backward(ctx, dy):
        y = ctx.y
        for block in ctx.blocks[::-1]:
            with torch.enable_grad():
                out = block(y)
            for part in out:
                part.backward(dy, retain_graph=True)
        return dy
