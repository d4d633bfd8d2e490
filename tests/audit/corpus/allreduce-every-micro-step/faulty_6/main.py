import torch

import wrap
from loop import train_one_epoch
from network import Network
from options import parse
from data import batches

args = parse()
model = wrap.prepare(Network(), args.local_rank)
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(args.epochs):
    train_one_epoch(args, model, batches(args), optimizer, args.local_rank)
