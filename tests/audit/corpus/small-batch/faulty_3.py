import torch
from torch.utils.data import DataLoader

BATCH_SIZE = 2  # expect: small-batch
EPOCHS = 20


def main(dataset):
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).to("cuda")
    train_loader = DataLoader(dataset, BATCH_SIZE, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(EPOCHS):
        for x, y in train_loader:
            loss = (model(x.to("cuda")) - y.to("cuda")).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
