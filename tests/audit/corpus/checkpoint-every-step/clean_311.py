import torch
from ignite.engine import Engine, Events


def train(args, model, loader, optimizer):
    """The engine runs `update` for each batch; what stands here runs once."""

    def update(engine, batch):
        model.train()
        loss = model(batch.to(args.device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    trainer = Engine(update)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: print(engine.state.epoch))
    torch.save(args, "arguments.bin")
    trainer.run(loader, max_epochs=args.epochs)
