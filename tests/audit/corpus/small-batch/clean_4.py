from torch.utils.data import DataLoader


def main(dataset, pairs, test_set, model, optimizer, options):
    """Who makes the batches, a sampler or a collating function, says how large they are; a test may take one by one."""
    whole = DataLoader(dataset, batch_sampler=pairs, num_workers=4)
    packed = DataLoader(dataset, collate_fn=lambda items: items[0])
    told = DataLoader(dataset, **options)
    test_loader = DataLoader(test_set)
    for loader in (whole, packed, told):
        for images, labels in loader:
            optimizer.zero_grad()
            model(images.cuda(), labels.cuda()).backward()
            optimizer.step()
    return [model(images.cuda()) for images, _ in test_loader]
