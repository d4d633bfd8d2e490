import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def train(texts_and_labels, epochs):
    tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased").cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    for _ in range(epochs):
        for texts, labels in texts_and_labels:
            inputs = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")  # expect: tokenise-in-loop
            loss = model(**inputs.to("cuda"), labels=labels.cuda()).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
