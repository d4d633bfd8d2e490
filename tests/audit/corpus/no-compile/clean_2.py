import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(dataset):
    model = AutoModelForCausalLM.from_pretrained("gpt2").cuda()
    arguments = TrainingArguments("out", torch_compile=True, bf16=True)
    Trainer(model, arguments, train_dataset=dataset).train()


def in_place(batches):
    net = torch.nn.Linear(8, 8).cuda()
    net.compile(mode="reduce-overhead")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in batches:
        net(x.cuda()).mean().backward()
        optimizer.step()
