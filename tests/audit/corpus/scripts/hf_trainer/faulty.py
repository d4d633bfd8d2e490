"""Fine-tunes a classifier of reviews with the Trainer of transformers."""

import argparse

import numpy as np
import torch
from datasets import load_dataset
from torch.utils.data import Dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)


class Reviews(Dataset):
    def __init__(self, split, tokenizer, length):
        self.rows = load_dataset("imdb", split=split)
        self.tokenizer = tokenizer
        self.length = length

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        item = self.tokenizer(row["text"], truncation=True, max_length=self.length, padding="max_length")
        item["labels"] = row["label"]
        return item


class CleanUp(TrainerCallback):
    """Believes that an empty cache saves memory."""

    def on_step_end(self, args, state, control, **kwargs):
        torch.cuda.empty_cache()  # expect: empty-cache-every-step@warning


class WeightedTrainer(Trainer):
    def __init__(self, *args, weights, **kwargs):
        super().__init__(*args, **kwargs)
        self.weights = weights
        self.seen = []

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weight=self.weights.to(labels.device))
        self.seen.append(loss.item())  # expect: sync-every-step
        return (loss, outputs) if return_outputs else loss


def metrics(prediction):
    guesses = np.argmax(prediction.predictions, axis=-1)
    return {"accuracy": float((guesses == prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="distilbert-base-uncased")
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--output", default="out")
    args = parser.parse_args()

    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=2)
    train_set = Reviews("train", tokenizer, args.length)
    test_set = Reviews("test", tokenizer, args.length)
    arguments = TrainingArguments(
        output_dir=args.output,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=1,  # expect: small-batch
        gradient_accumulation_steps=32,
        learning_rate=2e-5,
        weight_decay=0.01,
        logging_steps=50,
        eval_strategy="epoch",
        save_strategy="epoch",
        dataloader_num_workers=0,  # expect: loader-without-workers
        dataloader_pin_memory=False,  # expect: loader-without-pinned-memory
    )
    trainer = WeightedTrainer(
        model=model,
        args=arguments,
        train_dataset=train_set,
        eval_dataset=test_set,
        compute_metrics=metrics,
        callbacks=[CleanUp()],
        weights=torch.tensor([1.0, 1.3]),
    )
    trainer.train()
    print(trainer.evaluate())
    trainer.save_model(args.output)
    tokenizer.save_pretrained(args.output)


if __name__ == "__main__":
    main()
