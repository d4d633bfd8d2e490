"""What training puts together, evaluation can as well; so can what writes texts, if it pads."""
import torch
from torch.utils.data import DataLoader


def detection_loaders(train_set, val_set, args):
    loader = DataLoader(train_set, batch_size=args.batch_size, collate_fn=train_set.collate)
    val_loader = DataLoader(val_set, batch_size=1, collate_fn=val_set.collate)  # expect: literal-eval-batch-size@note
    return loader, val_loader


@torch.no_grad()
def evaluate(model, answers, tokenizer):
    loader = DataLoader(answers, batch_size=1, collate_fn=None)  # expect: literal-eval-batch-size@note
    for batch in loader:
        print(tokenizer.decode(model.generate(**batch, max_new_tokens=32)[0]))
