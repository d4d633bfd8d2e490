"""A tiny GPT-2 trained with Hugging Face's Trainer. Nothing is downloaded: the model is made from its configuration.

python examples/training/huggingface_trainer.py --steps 50
"""

import argparse
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

import flyball

LENGTH = 16  # tokens in a sample


def samples(count: int) -> list[dict[str, torch.Tensor]]:
    """Return sequences that count upwards from random numbers."""
    starts = torch.randint(0, 50, (count,), generator=torch.Generator().manual_seed(7))
    rows = [(int(start) + torch.arange(LENGTH)) % 50 for start in starts]
    return [{"input_ids": row, "labels": row} for row in rows]


def train(steps: int, folder: str) -> None:
    """Train with two batches in each step, an evaluation and a checkpoint in between."""
    set_seed(7)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2))
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=steps,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=10,
        save_steps=10,
        seed=7,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=samples(400), eval_dataset=samples(8))
    flyball.attach(trainer, run="huggingface-trainer")  # the only line for Flyball
    trainer.train()
    for entry in trainer.state.log_history:
        if "loss" in entry:
            print(f"step {entry['step']:>3}  loss {entry['loss']!r}")


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train(options.steps, folder)


if __name__ == "__main__":
    main()
