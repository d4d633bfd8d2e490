import torch


def train(model, loader, optimizer, device):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.empty_cache()  # expect: empty-cache-every-step@warning
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # expect: empty-cache-every-step@warning
