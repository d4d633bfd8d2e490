"""Fine-tunes a language model with Accelerate."""

import argparse
import logging
import math
import time

import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_scheduler

logger = logging.getLogger(__name__)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--dataset", default="wikitext")
    parser.add_argument("--train-batch-size", type=int, default=8)
    parser.add_argument("--block", type=int, default=1024)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--output", default="out")
    return parser.parse_args()


def lines(rows):
    return [row["text"] for row in rows if row["text"].strip()]


def main():
    args = parse()
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulate)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(args.model)
    data = load_dataset(args.dataset, "wikitext-103-raw-v1")
    train_loader = DataLoader(data["train"], batch_size=args.train_batch_size, shuffle=True, collate_fn=lines)  # expect: loader-without-workers
    eval_loader = DataLoader(data["validation"], batch_size=2, collate_fn=lines)  # expect: loader-without-workers, literal-eval-batch-size
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    total = math.ceil(len(train_loader) / args.accumulate) * args.epochs
    scheduler = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=total)
    model, optimizer, train_loader, eval_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, eval_loader, scheduler
    )

    started = time.time()
    done = 0
    for epoch in range(args.epochs):
        model.train()
        total_loss = 0
        for texts in train_loader:
            with accelerator.accumulate(model):
                batch = tokenizer(texts, truncation=True, max_length=args.block, padding=True, return_tensors="pt")  # expect: tokenise-in-loop
                batch = batch.to(accelerator.device)
                loss = model(**batch, labels=batch["input_ids"]).loss
                total_loss += loss  # expect: retained-graph@note
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            done += 1
            speed = done / (time.time() - started)  # expect: cumulative-speed-log
            logger.info("epoch %d, loss %.3f, %.2f batches/s", epoch, loss.item(), speed)  # expect: sync-every-step
            accelerator.save_state(args.output)  # expect: checkpoint-every-step@warning

        model.eval()
        losses = []
        for texts in eval_loader:
            batch = tokenizer(texts, truncation=True, max_length=args.block, padding=True, return_tensors="pt")
            batch = batch.to(accelerator.device)
            outputs = model(**batch, labels=batch["input_ids"])  # expect: no-grad-missing-in-eval@warning
            losses.append(accelerator.gather(outputs.loss.repeat(2)).mean().item())  # expect: sync-in-eval-loop
        logger.info("epoch %d: perplexity %.2f", epoch, math.exp(sum(losses) / len(losses)))

    accelerator.wait_for_everyone()
    accelerator.unwrap_model(model).save_pretrained(args.output)
    if accelerator.is_main_process:
        tokenizer.save_pretrained(args.output)


if __name__ == "__main__":
    main()
