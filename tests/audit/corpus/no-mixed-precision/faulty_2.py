import torch
from transformers import AutoModelForSequenceClassification


class Finetuner:
    def __init__(self, loader):
        self.device = torch.device("cuda")
        self.model = AutoModelForSequenceClassification.from_pretrained("roberta-large").to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5)
        self.loader = loader

    def epoch(self):
        for batch in self.loader:
            batch = {k: v.to(self.device) for k, v in batch.items()}
            outputs = self.model(**batch)  # expect: no-mixed-precision@note
            outputs.loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
