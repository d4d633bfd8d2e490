import torch


def train(model, batches, optimizer):
    """On the processor, whose values are at hand; the same code may run elsewhere one day."""
    device = torch.device("cpu")
    for x, y in batches:
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(device, loss.item())  # expect: sync-every-step@note
        total = float(loss)  # expect: sync-every-step@note
    return total
