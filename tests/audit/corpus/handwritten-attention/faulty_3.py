from torch import einsum, nn


class Attend(nn.Module):
    def __init__(self, dim_head, dropout):
        super().__init__()
        self.scale = dim_head**-0.5
        self.attn_dropout = nn.Dropout(dropout)
        self.soft = nn.Softmax(dim=-1)

    def forward(self, q, k, v):
        sim = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale  # expect: handwritten-attention
        attn = self.soft(sim)
        attn = self.attn_dropout(attn)
        return einsum("b h i j, b h j d -> b h i d", attn, v)


class Batched(nn.Module):
    def forward(self, q, k, v):
        scores = q.bmm(k.permute(0, 2, 1))  # expect: handwritten-attention
        return scores.softmax(dim=2).bmm(v)
