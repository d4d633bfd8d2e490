import torch


@torch.no_grad()
def extract(model, loader, folder):
    """The features of each batch are what the run is for."""
    model.eval()
    for number, x in enumerate(loader):
        torch.save(model(x.cuda()).cpu(), folder / f"{number}.pt")


def convert(files):
    for file in files:
        torch.save(torch.load(file), file.with_suffix(".new"))
