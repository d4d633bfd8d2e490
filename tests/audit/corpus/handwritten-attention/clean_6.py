import torch


def attention(q, k, v, most):
    """The scores choose, besides, what another kernel looks at: a fused one gives none."""
    scores = torch.matmul(q, k.transpose(-2, -1))
    weights = torch.softmax(scores, dim=-1)
    coarse = torch.matmul(weights, v)
    chosen = torch.topk(scores, most, dim=-1).indices
    return coarse, chosen
