import torch
import wandb
from accelerate import Accelerator


def main(model, optimizer, loader, scheduler):
    accelerator = Accelerator(mixed_precision="bf16")
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for step, batch in enumerate(loader):
        outputs = model(**batch)
        loss = outputs.loss
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if torch.isnan(loss):  # expect: sync-every-step
            raise RuntimeError(f"loss is not a number at step {step}")
        wandb.log({"loss": loss.detach().cpu().tolist(), "lr": scheduler.get_last_lr()[0]})  # expect: sync-every-step
