import torch
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")


def prepare(files, folder):
    """Ahead of the training."""
    for file in files:
        ids = tokenizer(file.read_text()).input_ids
        torch.save(ids, folder / f"{file.stem}.pt")


def train(model, autoencoder, loader, optimizer, every=1000):
    """An image's encoder has the same name; a sample is written now and then."""
    for step, images in enumerate(loader):
        latent = autoencoder.encode(images.cuda())
        model(latent).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % every == 0:
            prompt = tokenizer("Once upon a time", return_tensors="pt").input_ids.cuda()
            print(tokenizer.decode(model.generate(prompt)[0]))
        name = "step {}".format(step).encode("utf-8")
        assert name
