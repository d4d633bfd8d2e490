import torch


def a(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad(set_to_none=False)  # expect: zero-grad-to-zero
        model(x.cuda()).mean().backward()
        optimizer.step()


def b(model, loader, optimizer):
    for x in loader:
        for p in model.parameters():
            if p.grad is not None:
                p.grad.zero_()  # expect: zero-grad-to-zero
        model(x.cuda()).mean().backward()
        optimizer.step()


def c(model, loader, optimizer):
    for x in loader:
        model.zero_grad(False)  # expect: zero-grad-to-zero
        model(x.cuda()).mean().backward()
        optimizer.step()


def d(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad.data.zero_()  # expect: zero-grad-to-zero


def e(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        for name, p in model.named_parameters():
            p.grad.fill_(0)  # expect: zero-grad-to-zero
