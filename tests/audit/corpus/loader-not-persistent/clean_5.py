from torch.utils.data import DataLoader

from corpus import Corpus
from pretrain import Trainer


def main(args):
    loader = DataLoader(Corpus(args.train), batch_size=args.batch_size, num_workers=args.workers)
    trainer = Trainer(loader, lr=args.lr)
    trainer.train()


def each_epoch(args, trainer):
    for epoch in range(args.epochs):
        loader = DataLoader(Corpus(args.train, epoch), batch_size=args.batch_size, num_workers=args.workers)
        trainer.train(loader)
