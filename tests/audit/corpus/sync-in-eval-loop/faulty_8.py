import torch


def test(network, test_loader, vocabulary):
    """Each batch is a sequence: the loop along it is a part of the loop over batches."""
    network.to("cuda")
    hits = 0
    with torch.no_grad():
        for review, sentiment in test_loader:
            hidden = network.initial().to("cuda")
            for step in range(review.shape[1]):
                output, hidden = network(review[:, step].to("cuda"), hidden)
                if output.max().item() > 0.9:  # expect: sync-in-eval-loop@warning
                    hits += 1
            predicted = torch.argmax(output).item()  # expect: sync-in-eval-loop@note
            hits += predicted == sentiment
    return hits


def test_epochs(network, test_loader, epochs):
    """Of the loops over epochs and over batches the inner one evaluates."""
    network.cuda()
    for _ in range(epochs):
        right = 0
        for image, label in test_loader:
            right += (network(image.cuda()).argmax(1) == label.cuda()).sum().item()  # expect: sync-in-eval-loop@note
        print(right / len(test_loader))
