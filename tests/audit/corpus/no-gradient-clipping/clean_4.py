import deepspeed
import torch


def main(args, model, loader):
    """The engine clips: its configuration is in a file that is not seen here."""
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, config="ds_config.json")
    torch.nn.Transformer(64, 4)
    for batch in loader:
        loss = engine(batch.to(engine.device))
        engine.backward(loss)
        engine.step()
