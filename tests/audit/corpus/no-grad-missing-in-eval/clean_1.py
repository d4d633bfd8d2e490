import torch


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    for x, _ in loader:
        model(x.to(device))


@torch.inference_mode()
def evaluate_2(model, loader, device):
    model.eval()
    return [model(x.to(device)) for x, _ in loader]


def evaluate_3(model, loader):
    model.eval()
    with torch.set_grad_enabled(False):
        for x, _ in loader:
            model(x.cuda())


def evaluate_4(model, loader):
    model.eval()
    for x, _ in loader:
        with torch.no_grad():
            y = model(x.cuda())
        print(y.shape)
