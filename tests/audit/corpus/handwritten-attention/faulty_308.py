import torch


class Attention(torch.nn.Module):
    def soften(self, scores, v):
        """The scores are made by who calls it."""
        return torch.softmax(scores, dim=-1) @ v  # expect: handwritten-attention

    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        return self.soften(scores, v)
