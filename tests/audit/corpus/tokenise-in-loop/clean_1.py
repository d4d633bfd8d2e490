import torch
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")


def train(model, optimizer):
    data = load_dataset("imdb", split="train")
    data = data.map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True, num_proc=8)
    for batch in DataLoader(data, batch_size=32, num_workers=4):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
