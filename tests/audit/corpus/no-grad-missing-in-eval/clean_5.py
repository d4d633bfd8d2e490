import torch


def run_epoch(model, loader, optimizer=None):
    """Training with an optimiser, evaluation without one: gradients by the flag."""
    training = optimizer is not None
    model.train(training)
    with torch.set_grad_enabled(training):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
            if training:
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()


def evaluate(model, loader):
    torch.set_grad_enabled(False)
    model.eval()
    for x, _ in loader:
        model(x)
    torch.set_grad_enabled(True)
