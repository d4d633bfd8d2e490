import torch
from torch import nn


class Recommender(nn.Module):
    def __init__(self, size, layers):
        super().__init__()
        self.items = nn.Embedding(1000, size)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(size, 2), layers)

    def get_attention_mask(self, items):
        padding = (items > 0).long()
        extended = padding.unsqueeze(1).unsqueeze(2)
        length = padding.size(-1)
        shape = (1, length, length)
        subsequent = torch.triu(torch.ones(shape), diagonal=1)  # expect: mask-in-forward
        subsequent = (subsequent == 0).unsqueeze(1)
        subsequent = subsequent.long().to(items.device)
        extended = extended * subsequent
        extended = extended.to(dtype=next(self.parameters()).dtype)
        return (1.0 - extended) * -10000.0

    def forward(self, items):
        mask = self.get_attention_mask(items)
        return self.encoder(self.items(items), mask)


class Windowed(nn.Module):
    def forward(self, q, k, v):
        n = q.shape[-2]
        rows = torch.arange(n, device=q.device)
        near = (rows[None, :] - rows[:, None]).abs() < self.window  # expect: mask-in-forward
        scores = (q @ k.transpose(-2, -1)).masked_fill(~near, float("-inf"))
        return scores.softmax(-1) @ v


class Causal(nn.Module):
    def forward(self, x):
        t = x.size(1)
        mask = torch.full((t, t), float("-inf"), device=x.device)
        mask = torch.triu(mask, diagonal=1)  # expect: mask-in-forward
        mask2 = x.new_ones(t, t).tril().bool()  # expect: mask-in-forward
        mask3 = nn.Transformer.generate_square_subsequent_mask(t).to(x.device)  # expect: mask-in-forward
        return self.layers(x, mask, mask2, mask3)
