import sentencepiece as spm
import torch
from transformers import BertTokenizerFast

tokenizer = BertTokenizerFast.from_pretrained("bert-base-cased")


def encode(batch):
    return tokenizer.batch_encode_plus(batch["text"], padding="longest", return_tensors="pt").input_ids  # expect: tokenise-in-loop


def train(model, loader, optimizer, pieces_file):
    pieces = spm.SentencePieceProcessor(model_file=pieces_file)
    for batch in loader:
        source = encode(batch)
        target = pieces.encode(batch["translation"], out_type=int)  # expect: tokenise-in-loop
        loss = model(source.cuda(), torch.tensor(target).cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
