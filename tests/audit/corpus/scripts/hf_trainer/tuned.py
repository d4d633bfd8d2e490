"""Fine-tunes a classifier of reviews with the Trainer of transformers."""

import argparse

import numpy as np
import torch
from datasets import load_dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)


class Memory(TrainerCallback):
    """Tells the peak once an epoch."""

    def on_epoch_end(self, args, state, control, **kwargs):
        print(f"peak {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
        torch.cuda.empty_cache()


class WeightedTrainer(Trainer):
    def __init__(self, *args, weights, **kwargs):
        super().__init__(*args, **kwargs)
        self.weights = weights.to(self.args.device)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weight=self.weights)
        return (loss, outputs) if return_outputs else loss


def metrics(prediction):
    guesses = np.argmax(prediction.predictions, axis=-1)
    return {"accuracy": (guesses == prediction.label_ids).mean().item()}


def tokenised(tokenizer, length, workers):
    """Both splits, tokenised once and kept on disk."""

    def encode(rows):
        return tokenizer(rows["text"], truncation=True, max_length=length)

    data = load_dataset("imdb").map(encode, batched=True, num_proc=workers, remove_columns=["text"])
    return data["train"].rename_column("label", "labels"), data["test"].rename_column("label", "labels")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="distilbert-base-uncased")
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--output", default="out")
    args = parser.parse_args()

    set_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=2, attn_implementation="sdpa")
    train_set, test_set = tokenised(tokenizer, args.length, args.workers)
    arguments = TrainingArguments(
        output_dir=args.output,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch_size,
        per_device_eval_batch_size=2 * args.batch_size,
        learning_rate=2e-5,
        weight_decay=0.01,
        max_grad_norm=1.0,
        bf16=True,
        tf32=True,
        torch_compile=True,
        optim="adamw_torch_fused",
        group_by_length=True,
        logging_steps=50,
        eval_strategy="epoch",
        save_strategy="epoch",
        dataloader_num_workers=args.workers,
        dataloader_persistent_workers=True,
    )
    trainer = WeightedTrainer(
        model=model,
        args=arguments,
        train_dataset=train_set,
        eval_dataset=test_set,
        data_collator=DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8),
        compute_metrics=metrics,
        callbacks=[Memory()],
        weights=torch.tensor([1.0, 1.3]),
    )
    trainer.train()
    print(trainer.evaluate())
    trainer.save_model(args.output)
    tokenizer.save_pretrained(args.output)


if __name__ == "__main__":
    main()
