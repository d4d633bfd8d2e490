import torch


@torch.no_grad()
def generate_samples(model, tokenizer, prompts, device):
    """Each prompt's text is needed on the host: there is nothing to put off."""
    model.eval()
    for prompt in prompts:
        ids = tokenizer(prompt, return_tensors="pt").input_ids.to(device)
        out = model.generate(ids, max_new_tokens=64)
        print(tokenizer.decode(out[0].tolist()))
