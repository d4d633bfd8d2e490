import torch


def load(model, path, gpus):
    """The wrapper is taken off again before anything runs; one device alone is driven as without it."""
    if gpus > 1:
        model = torch.nn.DataParallel(model)
        model = model.module
    model.load_state_dict(torch.load(path))
    return torch.nn.DataParallel(model.cuda(), device_ids=[0])
