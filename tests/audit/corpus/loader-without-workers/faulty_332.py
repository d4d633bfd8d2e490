import torch
from scenarios import Classes
from torch import nn
from torch.utils.data import DataLoader


def train(data):
    model = nn.Linear(3, 3).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for number, part in enumerate(Classes(data, increment=2)):
        for x, y in DataLoader(part, batch_size=32, pin_memory=True):  # expect: loader-without-workers
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda()) * number
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
