import torch


def get_batch(data, block_size, batch_size):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    return torch.stack([data[i : i + block_size] for i in ix]).cuda()


@torch.no_grad()
def estimate_loss(model, splits, config):
    model.eval()
    losses = {}
    for name, data in splits.items():
        batches = [get_batch(data, config.block_size, 4) for _ in range(200)]  # expect: literal-eval-batch-size
        losses[name] = torch.stack([model(x).mean() for x in batches]).mean()
    model.train()
    return losses


def train(model, optimizer, splits, config):
    for _ in range(config.max_iters):
        loss = model(get_batch(splits["train"], config.block_size, config.batch_size)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
