import torch


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct = torch.zeros((), dtype=torch.long, device=device)
    seen = 0
    for images, labels in loader:
        scores = model(images.to(device, non_blocking=True))
        correct += (scores.argmax(1) == labels.to(device, non_blocking=True)).sum()
        seen += labels.numel()
    return correct.item() / seen
