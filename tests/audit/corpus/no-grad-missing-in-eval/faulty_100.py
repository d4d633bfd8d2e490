import torch


def fit(model, criterion, optimizer, data, held, epochs, stopper):
    x_train, y_train = data
    x_val, y_val = held
    for epoch in range(epochs):
        optimizer.zero_grad()
        loss = criterion(model(x_train), y_train)
        guess = model(x_val)  # expect: no-grad-missing-in-eval@note
        held_loss = criterion(guess, y_val)
        loss.backward()
        optimizer.step()
        chosen = held_loss if epoch > 3 else loss.detach()
        torch.distributed.all_reduce(chosen)
        if stopper.step(chosen):
            break


def fit_entries(model, criterion, optimizer, scheduler, table, epochs):
    for epoch in range(epochs):
        optimizer.zero_grad()
        criterion(model(table["train_input"]), table["train_label"]).backward()
        optimizer.step()
        loss = criterion(model(table["test_input"].cuda()), table["test_label"])  # expect: no-grad-missing-in-eval@note
        scheduler.step(loss)
