import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def main(model, dataset, optimizer, args):
    """The precision is the launcher's or the argument's."""
    accelerator = Accelerator(mixed_precision=args.mixed_precision)
    loader = DataLoader(dataset, batch_size=args.batch_size, num_workers=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
