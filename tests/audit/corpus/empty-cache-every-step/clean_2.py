import torch


def train(model, loader, optimizer):
    """Only after running out of memory, or rarely."""
    for step, x in enumerate(loader):
        failed = False
        try:
            model(x.cuda()).mean().backward()
            optimizer.step()
        except torch.cuda.OutOfMemoryError:
            failed = True
        if failed:
            torch.cuda.empty_cache()
        optimizer.zero_grad()
        if step % 1000 == 0:
            torch.cuda.empty_cache()


def old_style(model, loader, optimizer):
    for x in loader:
        try:
            model(x.cuda()).mean().backward()
            optimizer.step()
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            torch.cuda.empty_cache()
