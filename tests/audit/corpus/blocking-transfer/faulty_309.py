import torch


def validate(val_loader, scorer):
    """Whether the scorer is a model nobody says; what is gone through is called a loader, and pinned elsewhere."""
    totals = []
    with torch.no_grad():
        for i, (images, labels) in enumerate(val_loader):
            if torch.cuda.is_available():
                images = images.cuda()  # expect: blocking-transfer@note
                labels = labels.cuda()  # expect: blocking-transfer@note
            totals.append(scorer.score(images, labels))
    return totals


def main(data, run):
    loader = torch.utils.data.DataLoader(data, batch_size=32, num_workers=2, pin_memory=True)
    return run(validate, loader)
