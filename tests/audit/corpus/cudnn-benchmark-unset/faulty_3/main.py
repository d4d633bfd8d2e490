import torch

from network import VolumeNet


def main(loader):
    model = VolumeNet(4).to("cuda:0")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    criterion = torch.nn.CrossEntropyLoss()
    for volume, label in loader:  # expect: cudnn-benchmark-unset@note
        optimizer.zero_grad(set_to_none=True)
        criterion(model(volume.to("cuda:0")), label.to("cuda:0")).backward()
        optimizer.step()
