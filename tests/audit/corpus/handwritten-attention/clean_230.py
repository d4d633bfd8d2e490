import torch
import torch.nn.functional as F
from torch import nn


class Listed(nn.Module):
    """The heads are mixed by the second product: nothing is weighed."""

    def forward(self, q, k, mix):
        weights = F.softmax(torch.einsum("nhid,nhjd->nhij", [q, k]), dim=-1)
        return torch.einsum("nhij,hg->ngij", [weights, mix])


class Chained(nn.Module):
    """The layer does more than to weigh."""

    def __init__(self, heads, p):
        super().__init__()
        self.weigh = nn.Sequential(nn.Softmax(dim=-1), nn.Conv2d(heads, heads, 1), nn.Dropout(p))

    def forward(self, q, k, v):
        return self.weigh(q @ k.transpose(-2, -1)) @ v


class ScaledBefore(nn.Module):
    """The heads alone are brought to the front: no product of each with each follows."""

    def forward(self, x, k, v):
        k = k.view(*k.shape[:2], self.heads, -1).transpose(1, 2) * self.scale
        return torch.softmax(x @ k, dim=-1) @ v


class Asked(nn.Module):
    """The kernel is got by its name."""

    def forward(self, q, k, v):
        fused = getattr(F, "scaled_dot_product_attention", None)
        if fused is not None:
            return fused(q, k, v)
        return torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1) @ v
