import torch


def run_epoch(model, loader, optimizer=None):
    """Without an optimizer it is called where history is off."""
    for images, labels in loader:
        loss = model(images.cuda(), labels.cuda()).mean()
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def switched(model, loader, optimizer, train=True):
    """The argument says whether history is on."""
    for images, labels in loader:
        with torch.set_grad_enabled(train):
            loss = model(images.cuda(), labels.cuda()).mean()
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def always(model, loader, optimizer, log=True):
    """No call has it evaluate: the argument is about something else."""
    for images, labels in loader:
        loss = model(images.cuda(), labels.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if log:
            print("step")


def main(model, train_loader, test_loader):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(10):
        run_epoch(model, train_loader, optimizer)
        with torch.no_grad():
            run_epoch(model, test_loader)
        switched(model, train_loader, optimizer)
        switched(model, test_loader, optimizer, train=False)
        always(model, train_loader, optimizer, log=False)
