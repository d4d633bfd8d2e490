import torch


def train_epoch(args, model, loader, optimizer):
    """One process, as far as anybody can see."""
    for step, batch in enumerate(loader):
        loss = model(batch.cuda()).mean() / args.accumulate
        loss.backward()
        if (step + 1) % args.accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()


def train_engine(args, engine, loader):
    """The engine knows when gradients are due."""
    for step, batch in enumerate(loader):
        loss = engine(batch.cuda()).mean()
        engine.backward(loss)
        engine.step()
        if step % 100 == 0:
            print(step)
