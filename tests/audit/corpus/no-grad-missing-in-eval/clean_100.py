import torch


def fit(model, criterion, optimizer, data, held, epochs, scheduler):
    x_train, y_train = data
    x_val, y_val = held
    for epoch in range(epochs):
        optimizer.zero_grad()
        criterion(model(x_train), y_train).backward()
        optimizer.step()
        with torch.no_grad():
            scheduler.step(criterion(model(x_val), y_val))


def search(model, criterion, optimizer, arch, data, held, steps):
    x_val, y_val = held
    for _ in range(steps):
        optimizer.zero_grad()
        criterion(model(data[0]), data[1]).backward()
        optimizer.step()
        guess = model(x_val)
        loss = criterion(guess, y_val)
        loss.backward()
        arch.step()


def penalised(model, optimizer, x_train, x_test, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        shift = model(x_test).mean() - model(x_train).mean()
        total = model(x_train).square().mean() + shift.square()
        total.backward()
        optimizer.step()
