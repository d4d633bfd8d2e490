import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.n_head = config.n_head
        self.flash = hasattr(F, "scaled_dot_product_attention")
        if not self.flash:
            ones = torch.ones(config.block_size, config.block_size)
            self.register_buffer("mask", torch.tril(ones).view(1, 1, config.block_size, config.block_size))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.c_attn(x).view(b, t, 3, self.n_head, -1).permute(2, 0, 3, 1, 4)
        if self.flash:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = (q @ k.transpose(-2, -1)).masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        return scores.softmax(-1) @ v
