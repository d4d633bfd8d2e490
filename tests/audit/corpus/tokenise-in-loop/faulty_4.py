import torch
from transformers import AutoTokenizer, PreTrainedTokenizer


class Padding:
    """Made anew in each step; what it tokenises is one word."""

    def __init__(self, tokenizer: PreTrainedTokenizer):
        self.number = tokenizer(tokenizer.pad_token)["input_ids"][0]  # expect: tokenise-in-loop@note


def train(model, loader, optimizer):
    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    for tokens, y in loader:
        padding = Padding(tokenizer)
        loss = torch.nn.functional.cross_entropy(model(tokens.cuda(), padding.number), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
