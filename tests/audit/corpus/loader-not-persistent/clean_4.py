import torch
import tqdm
from torch.utils.data import DataLoader


def main(dataset, model):
    """A single pass over the data: workers start once."""
    loader = DataLoader(dataset, batch_size=32, num_workers=4)
    optimizer = torch.optim.Adam(model.parameters())
    numbered = tqdm.tqdm(enumerate(loader), total=len(loader))
    for _, batch in numbered:
        loss = model(batch.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
