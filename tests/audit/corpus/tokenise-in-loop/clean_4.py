from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2").cuda().eval()


class Texts(Dataset):
    def __init__(self, texts):
        self.texts = texts

    def __getitem__(self, index):
        return tokenizer(self.texts[index], return_tensors="pt")


def collate(texts):
    return tokenizer(texts, padding=True, return_tensors="pt")


def evaluate(loader):
    for batch in DataLoader(loader, collate_fn=collate, num_workers=4):
        yield model(**batch.to("cuda")).logits


def complete(prompt):
    """One text of a user's."""
    inputs = tokenizer(prompt, return_tensors="pt").to("cuda")
    return tokenizer.decode(model.generate(**inputs)[0])
