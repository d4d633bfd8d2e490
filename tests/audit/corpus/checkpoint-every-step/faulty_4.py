import torch
import torch as t


def save(model, path):
    torch.save({"model": model.state_dict()}, path)  # expect: checkpoint-every-step


def a(model, loader, optimizer):
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        optimizer.step()
        t.save(model.state_dict(), f"last_{step}.pt")  # expect: checkpoint-every-step


def b(model, loader, optimizer, accelerator):
    for x in loader:
        accelerator.backward(model(x).mean())
        optimizer.step()
        save(model, "last.pt")


def c(model, loader, optimizer, accelerator):
    for x in loader:
        model(x).mean().backward()
        optimizer.step()
        model.save_pretrained("last")  # expect: checkpoint-every-step
