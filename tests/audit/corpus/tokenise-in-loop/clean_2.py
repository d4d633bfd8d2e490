import torch
from torch.utils.data import DataLoader
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")


def collate(rows):
    """Within the loader's workers: the GPU does not wait for it."""
    return tokenizer([row["text"] for row in rows], padding=True, return_tensors="pt")


class Lines(torch.utils.data.Dataset):
    def __init__(self, lines):
        self.lines = lines

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return tokenizer(self.lines[index], truncation=True)


def train(lines, model, optimizer):
    for batch in DataLoader(Lines(lines), batch_size=32, collate_fn=collate, num_workers=8):
        model(**batch.to("cuda")).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
