import torch

torch.autograd.set_detect_anomaly(False)


def main(args, model, loader, optimizer):
    torch.autograd.set_detect_anomaly(args.debug)
    if args.detect_anomaly:
        torch.autograd.set_detect_anomaly(True)
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
