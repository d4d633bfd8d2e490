import torch

from fields import Potential


def evaluate(loader, device):
    """The forces are the energy's gradient by the places of the atoms, which the model takes by itself."""
    net = Potential().to(device)
    net.eval()
    energy_error, force_error = 0.0, 0.0
    for atoms, energy, forces in loader:
        result = net(atoms.to(device))
        energy_error += (result["energy"] - energy.to(device)).abs().mean().item()
        force_error += (result["forces"] - forces.to(device)).abs().mean().item()
    return energy_error, force_error


def main(loader):
    return evaluate(loader, torch.device("cuda"))
