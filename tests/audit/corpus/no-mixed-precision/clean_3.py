import torch
from transformers import AutoModelForCausalLM


def whole_model_in_bfloat16(loader):
    model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.bfloat16).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        model(batch.cuda()).loss.backward()
        optimizer.step()


def converted(model, loader):
    model = model.to("cuda").bfloat16()
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        model(batch.cuda()).mean().backward()
        optimizer.step()


def tensor_float(model, loader):
    torch.set_float32_matmul_precision("high")
    model = model.cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        model(batch.cuda()).mean().backward()
        optimizer.step()
