import torch
import torch.nn as nn

scaler = torch.cuda.amp.GradScaler()


def fit(net: nn.Module, opt, data, accumulate: int):
    for i, (x, y) in enumerate(data):
        with torch.autocast("cuda"):
            loss = nn.functional.l1_loss(net(x.cuda()), y.cuda()) / accumulate
        scaler.scale(loss).backward()
        if (i + 1) % accumulate == 0:
            nn.utils.clip_grad_value_(net.parameters(), 0.1)  # expect: clip-before-unscale@warning
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
