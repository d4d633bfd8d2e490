import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __init__(self, path, tokenizer):
        self.frame = pd.read_csv(path)
        self.tokenizer = tokenizer

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, index):
        text = self.frame.iloc[index]["text"]
        return self.tokenizer(text, truncation=True, padding="max_length", return_tensors="pt")


class Fit:
    def __init__(self, path, tokenizer, model):
        self.loader = DataLoader(Reviews(path, tokenizer), 32, True, None, None, 0)  # expect: loader-without-workers
        self.model = model.to("cuda")
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def epoch(self):
        for batch in self.loader:
            self.model(batch["input_ids"].to("cuda")).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
