import time

import torch
import torch.nn.functional as F


def estimate_throughput(started, tokens):
    return float(tokens) / (time.perf_counter() - started)


def train(config, model, batches, optimizer, scaler, master_process):
    device = config.device
    started = time.perf_counter()
    seen = 0
    window = []
    for iteration in range(config.max_iters):
        for _micro in range(config.gradient_accumulation_steps):
            x, y = next(batches)
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            seen += int(x.shape[0]) * x.size(1)
            logits = model(x)
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
            loss = loss / config.gradient_accumulation_steps
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        window.append(loss.detach())
        if iteration % config.log_interval == 0 and master_process:
            mean = torch.stack(window).mean().item() * config.gradient_accumulation_steps
            window.clear()
            print(f"iter {iteration}: loss {mean:.4f}, {estimate_throughput(started, seen):.0f} tokens/s")
