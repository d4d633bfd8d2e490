import torch
import torch.nn as nn


class GPT(nn.Module):
    def __init__(self, width, heads, depth):
        super().__init__()
        block = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True)
        self.blocks = nn.TransformerEncoder(block, depth)

    def forward(self, x):
        return self.blocks(x, is_causal=True)


def main(loader, epochs=3):
    model = GPT(768, 12, 12).to("cuda")
    opt = torch.optim.AdamW(model.parameters(), lr=6e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10_000)
    for _ in range(epochs):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x.to("cuda")), y.to("cuda"))
            loss.backward()
            opt.step()  # expect: no-gradient-clipping@note
            opt.zero_grad()
            sched.step()
