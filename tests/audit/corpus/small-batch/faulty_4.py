from torch.utils.data import DataLoader


def main(dataset, model, optimizer):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)  # expect: small-batch
    for images, labels in loader:
        optimizer.zero_grad()
        model(images.cuda(), labels.cuda()).backward()
        optimizer.step()
