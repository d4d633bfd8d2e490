import torch


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct, seen = 0, 0
    for images, labels in loader:
        scores = model(images.to(device))
        correct += (scores.argmax(1).cpu() == labels).sum().item()  # expect: sync-in-eval-loop
        seen += len(labels)
    return correct / seen
