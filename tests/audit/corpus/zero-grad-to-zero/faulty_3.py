import torch


def train(network, loader, opt):
    network.to("cuda")
    for x in loader:
        network.zero_grad(False)  # expect: zero-grad-to-zero
        network(x.to("cuda")).mean().backward()
        opt.step()


def by_hand(network, loader, rate):
    for x in loader:
        for parameter in network.parameters():
            parameter.grad.data.zero_()  # expect: zero-grad-to-zero
        network(x.to("cuda")).mean().backward()
        with torch.no_grad():
            torch._foreach_add_(list(network.parameters()), [p.grad for p in network.parameters()], alpha=-rate)
