import pickle

import torch
import torch.distributed as dist


@torch.no_grad()
def generate_all(model, prompts, length, end):
    """Each token is asked for its end: what is written next depends on it."""
    model.eval()
    texts = []
    for batch in prompts:
        text = batch.cuda()
        for _ in range(length):
            scores = model(text)
            token = scores[:, -1].argmax(-1, keepdim=True)
            text = torch.cat([text, token], 1)
            if (token == end).all():
                break
        texts.append(text)
    return texts


def gather_objects(sizes, pieces):
    """What others pickled is unpacked on the host."""
    return [pickle.loads(piece[: size.item()].cpu().numpy().tobytes()) for size, piece in zip(sizes, pieces)]


@torch.no_grad()
def evaluate(model, loader, mine):
    model.eval()
    found = []
    for batch in loader:
        out = model(batch.cuda())
        sizes = [torch.empty(1, device="cuda") for _ in range(dist.get_world_size())]
        found += gather_objects(sizes, [out for _ in sizes])
    return found
