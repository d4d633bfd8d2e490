import torch


def train(model, loader, rate, decay):
    model.cuda()
    for x, y in loader:
        model.zero_grad()
        torch.nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= rate * p.grad  # expect: slow-optimizer-loop


def with_data(model, loader, rate):
    for x in loader:
        model(x.cuda()).mean().backward()
        for name, weight in model.named_parameters():
            weight.data.add_(weight.grad.data, alpha=-rate)  # expect: slow-optimizer-loop
