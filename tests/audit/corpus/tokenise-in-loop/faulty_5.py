import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerBase


class TextEncoder(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.tok = AutoTokenizer.from_pretrained(name)
        self.body = AutoModel.from_pretrained(name)

    def forward(self, texts):
        inputs = self.tok(texts, padding=True, return_tensors="pt").to("cuda")  # expect: tokenise-in-loop@note
        return self.body(**inputs).last_hidden_state[:, 0]


def evaluate(model, tokenizer: PreTrainedTokenizerBase, loader):
    right = 0
    with torch.no_grad():
        for texts, labels in loader:
            inputs = tokenizer(list(texts), padding=True, return_tensors="pt").to("cuda")  # expect: tokenise-in-loop@note
            right += (model(**inputs).logits.argmax(-1).cpu() == labels).sum()
    return right


class Trainer:
    def training_step(self, model, tokenizer, batch):
        texts, targets = batch
        if isinstance(model, nn.Module):
            ids = tokenizer(texts, padding="max_length", truncation=True)  # expect: tokenise-in-loop
            logits = model(torch.tensor(ids["input_ids"]).cuda())
        return nn.functional.cross_entropy(logits, targets.cuda())

    def train(self, model, tokenizer, loader, optimizer):
        for batch in loader:
            loss = self.training_step(model, tokenizer, batch)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
