from torch.utils.data import DataLoader


def nested(given, change):
    return {name: change(each) for name, each in given.items()}


def bring(batch, device, non_blocking=True):
    return batch.to(device, non_blocking=non_blocking)


def train(model, data, optimizer, device):
    loader = DataLoader(data, batch_size=8, num_workers=4, pin_memory=True)
    for batch in loader:
        batch = nested(batch, lambda each: each.to(device, non_blocking=True))
        batch = nested(batch, lambda each: each.to(float))
        loss = model(batch, bring(batch["extra"], device)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def tune(model, data, optimizer, device):
    for x in DataLoader(data, batch_size=8, num_workers=4):
        x = nested({"x": x}, lambda each: each.to(device))
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
