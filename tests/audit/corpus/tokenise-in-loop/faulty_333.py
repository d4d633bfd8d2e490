import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import AutoTokenizer


class Captions(Dataset):
    def __init__(self, texts, tokenizer):
        self.texts, self.tokenizer, self.kept = texts, tokenizer, {}

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        tokens = self.tokenizer(self.texts[index], padding="max_length", return_tensors="pt")  # expect: tokenise-in-loop
        return tokens.input_ids.squeeze(0)


def train(texts, others):
    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    model = nn.Embedding(50257, 8).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for tokens in DataLoader(Captions(texts, tokenizer), batch_size=8, pin_memory=True):
        loss = model(tokens.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Lines(Dataset):
    def __init__(self, texts, tokenizer):
        self.texts, self.tokenizer = texts, tokenizer

    def __getitem__(self, index):
        return self.tokenizer(self.texts[index]).input_ids


def beside(texts, tokenizer):
    return DataLoader(Lines(texts, tokenizer), num_workers=4, pin_memory=True, persistent_workers=True)
