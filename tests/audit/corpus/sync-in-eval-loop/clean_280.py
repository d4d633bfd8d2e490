import torch


@torch.no_grad()
def predict(model, loader, device, classes):
    """The same into a tensor on the device, which is read once; the host's own labels stay where they are."""
    model.to(device).eval()
    scores = torch.zeros(len(loader.dataset), classes, device=device)
    labels = torch.zeros(len(loader.dataset))
    at = 0
    for images, targets in loader:
        until = at + len(images)
        scores[at:until] = model(images.to(device))
        labels[at:until] = targets
        at = until
    return scores.cpu(), labels


class Bank(torch.nn.Module):
    """Its buffer lies where the module does."""

    def __init__(self, size, width):
        super().__init__()
        self.register_buffer("bank", torch.zeros(size, width))

    @torch.no_grad()
    def fill(self, model, loader, device):
        model.to(device).eval()
        at = 0
        for batch in loader:
            found = model(batch.to(device))
            self.bank[at : at + len(found)] = found
            at += len(found)
