import torch


def attention(q, k, v, bias):
    """A bias that is added in place is one, too."""
    scores = torch.matmul(q, k.transpose(-2, -1))  # expect: handwritten-attention@note
    if bias is not None:
        scores += bias
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v)
