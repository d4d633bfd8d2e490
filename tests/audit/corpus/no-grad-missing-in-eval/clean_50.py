import torch
from torch.autograd import Variable
from torch.nn import functional as F


def test(model, loader):
    model.eval()
    right = 0
    for data, target in loader:
        data, target = Variable(data.cuda(), volatile=True), Variable(target.cuda())
        output = model(data)
        right += output.data.max(1)[1].eq(target.data).cpu().sum()
    return right


def train(model, loader, optimizer):
    model.train()
    for data, target in loader:
        loss = F.nll_loss(model(Variable(data.cuda())), Variable(target.cuda()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
