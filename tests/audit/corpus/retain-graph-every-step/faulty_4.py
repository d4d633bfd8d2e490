import torch
from torch import nn
from torch.autograd import Function


class Reversible(nn.Module):
    """Recomputes its inputs; each part's graph is made here, and used once."""

    def backward_pass(self, y1, y2, dy1, dy2):
        with torch.enable_grad():
            y1.requires_grad = True
            g_y1 = self.g(y1)
            g_y1.backward(dy2, retain_graph=True)  # expect: retain-graph-every-step@note
        with torch.no_grad():
            x2 = y2 - g_y1
            dy1 = dy1 + y1.grad
            y1.grad = None
        with torch.enable_grad():
            x2.requires_grad = True
            f_x2 = self.f(x2)
            torch.autograd.backward(f_x2, dy1)
        return y1 - f_x2, x2, dy1, dy2 + x2.grad
