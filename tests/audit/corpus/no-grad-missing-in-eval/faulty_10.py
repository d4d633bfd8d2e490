import numpy as np
import torch


def generate_samples(generator, count, latent, device):
    """Pictures for a report."""
    z = torch.randn(count, latent, device=device)
    images = generator(z)  # expect: no-grad-missing-in-eval@note
    return (images.detach().cpu().numpy() * 255).astype(np.uint8)


def extract_features(model: torch.nn.Module, loader, device):
    features = []
    for images, _ in loader:
        features.append(model(images.to(device)).detach().cpu())  # expect: no-grad-missing-in-eval@note
    return torch.cat(features)


class Forecaster:
    def __init__(self, network: torch.nn.Module):
        self.network = network

    def predict(self, x):
        self.network.eval()
        x = torch.tensor(x, dtype=torch.float32, device="cuda")
        return self.network(x).detach().cpu().numpy()  # expect: no-grad-missing-in-eval@note
