from torch.utils.data import DataLoader


def main(dataset, model, optimizer, epochs, options):
    """The data set changes between epochs: workers that stay would not see it."""
    for epoch in range(epochs):
        dataset.resample(epoch)
        loader = DataLoader(dataset, batch_size=64, num_workers=8)
        for x in loader:
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    for x in DataLoader(dataset, **options):
        model(x.cuda())


def endless(dataset, model, optimizer, steps):
    """The iterator is made once and never ends an epoch."""
    iterator = iter(DataLoader(dataset, batch_size=64, num_workers=8))
    for _ in range(steps):
        model(next(iterator).cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
