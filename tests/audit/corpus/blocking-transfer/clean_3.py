import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def main(dataset, model, optimizer, flags):
    """The wrapped loader has put each batch on the device already."""
    accelerator = Accelerator()
    loader = DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.to(accelerator.device)), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def configured(dataset, model, optimizer, flags):
    for x in DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True):
        model(x.to("cuda", **flags)).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def once(dataset, model):
    """One batch to look at, outside any loop."""
    batch = next(iter(DataLoader(dataset, batch_size=32, pin_memory=True)))
    return model.to("cuda")(batch.to("cuda"))
