import torch
import torch.nn.functional as F


def attention(query, key, value, dropout_p=0.0, training=True):
    scale = query.shape[-1] ** -0.5
    weights = F.softmax(torch.matmul(query, key.transpose(-1, -2)) * scale, dim=-1)  # expect: handwritten-attention
    weights = F.dropout(weights, dropout_p, training)
    return torch.matmul(weights, value)


class CrossAttention(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q = torch.nn.Linear(width, width)
        self.kv = torch.nn.Linear(width, 2 * width)

    def forward(self, x, memory):
        k, v = self.kv(memory).chunk(2, dim=-1)
        return attention(self.q(x), k, v)
