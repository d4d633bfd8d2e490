from torch.utils.data import DataLoader

from corpus import Corpus
from pretrain import Trainer


def main(args):
    train = Corpus(args.train)
    loader = DataLoader(train, batch_size=args.batch_size, num_workers=args.workers)  # expect: loader-not-persistent
    trainer = Trainer(loader, lr=args.lr)
    for epoch in range(args.epochs):
        trainer.train(epoch)
        trainer.save(epoch)
