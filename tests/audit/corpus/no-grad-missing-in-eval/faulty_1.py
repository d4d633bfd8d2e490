import torch
import torch.nn.functional as F


def test(model, device, test_loader):
    model.eval()
    correct = 0
    test_loss = torch.zeros((), device=device)
    for data, target in test_loader:
        data, target = data.to(device), target.to(device)
        output = model(data)  # expect: no-grad-missing-in-eval@warning
        test_loss += F.nll_loss(output, target, reduction="sum").detach()
        correct += (output.argmax(dim=1) == target).sum()
    print("accuracy", (correct / len(test_loader.dataset)).item())
