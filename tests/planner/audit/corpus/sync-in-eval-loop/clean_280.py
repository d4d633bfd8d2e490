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
