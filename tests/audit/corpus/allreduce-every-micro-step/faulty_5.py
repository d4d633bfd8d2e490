import torch


def smart_DDP(model):
    return torch.nn.parallel.DistributedDataParallel(model, static_graph=True)


def train(model, loader, optimizer, accumulate):
    model = smart_DDP(model.cuda())
    last = 0
    for number, (images, labels) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        loss.backward()  # expect: allreduce-every-micro-step@warning
        if number - last >= accumulate:
            optimizer.step()
            optimizer.zero_grad()
            last = number
