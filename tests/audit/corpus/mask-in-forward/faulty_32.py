"""Where weights are handed out to be looked at, a mask matters less than where each batch has its own."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, need_weights=False):
        super().__init__()
        self.need_weights = need_weights

    def forward(self, q, k, v):
        mask = torch.ones(q.size(-2), q.size(-2), device=q.device).tril()  # expect: mask-in-forward@warning
        out = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask.bool())
        if self.need_weights:
            mask = torch.ones(q.size(-2), q.size(-2), device=q.device).tril()  # expect: mask-in-forward@note
            return out, (q @ k.mT).masked_fill(mask == 0, -1e9).softmax(-1)
        return out


def look_at(q, k, v):
    return Attention(need_weights=True)(q, k, v)
