from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def main(optimizer, loader, folder):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.save_state(folder)  # expect: checkpoint-every-step@warning
