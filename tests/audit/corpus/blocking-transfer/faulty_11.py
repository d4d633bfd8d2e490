from torch.utils.data import DataLoader


def nested(given, change):
    if isinstance(given, dict):
        return {name: nested(each, change) for name, each in given.items()}
    return change(given)


def bring(batch, device, non_blocking=False):
    if isinstance(batch, list):
        return [each.to(device, non_blocking=non_blocking) for each in batch]
    return batch.to(device, non_blocking=non_blocking)


def train(model, data, optimizer, device):
    loader = DataLoader(data, batch_size=8, num_workers=4, pin_memory=True)
    for batch in loader:
        batch = nested(batch, lambda each: each.to(device))  # expect: blocking-transfer
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def tune(model, data, optimizer, device):
    loader = DataLoader(data, batch_size=8, num_workers=4, pin_memory=True)
    for x, y in loader:
        y = bring(y, device, non_blocking=True)
        loss = (model(bring(x, device)) - y).square().mean()  # expect: blocking-transfer
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
