"""Fine-tunes a language model with Accelerate."""

import argparse
import logging
import math
import time
from itertools import chain

import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator, get_scheduler

logger = logging.getLogger(__name__)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--dataset", default="wikitext")
    parser.add_argument("--train-batch-size", type=int, default=8)
    parser.add_argument("--eval-batch-size", type=int, default=16)
    parser.add_argument("--block", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--max-grad-norm", type=float, default=1.0)
    parser.add_argument("--log-every", type=int, default=50)
    parser.add_argument("--save-every", type=int, default=5_000)
    parser.add_argument("--output", default="out")
    return parser.parse_args()


def blocks(args, tokenizer):
    """Both splits, tokenised and packed once into blocks of full length."""

    def encode(rows):
        return tokenizer(rows["text"])

    def pack(rows):
        ids = list(chain.from_iterable(rows["input_ids"]))
        pieces = [ids[i : i + args.block] for i in range(0, len(ids) - args.block, args.block)]
        return {"input_ids": pieces, "labels": pieces}

    data = load_dataset(args.dataset, "wikitext-103-raw-v1")
    data = data.map(encode, batched=True, num_proc=args.workers, remove_columns=["text"])
    return data.map(pack, batched=True, num_proc=args.workers, remove_columns=data["train"].column_names)


def loader(split, batch_size, workers, shuffle):
    return DataLoader(
        split,
        batch_size=batch_size,
        shuffle=shuffle,
        collate_fn=default_data_collator,
        num_workers=workers,
        pin_memory=True,
        persistent_workers=workers > 0,
    )


@torch.no_grad()
def evaluate(model, eval_loader, accelerator):
    model.eval()
    losses = []
    for batch in eval_loader:
        loss = model(**batch).loss
        losses.append(accelerator.gather_for_metrics(loss.detach().repeat(batch["input_ids"].shape[0])))
    model.train()
    return torch.cat(losses).mean().item()


def main():
    args = parse()
    accelerator = Accelerator(
        gradient_accumulation_steps=args.accumulate, mixed_precision="bf16", dynamo_backend="inductor"
    )
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model, attn_implementation="sdpa")
    data = blocks(args, tokenizer)
    train_loader = loader(data["train"], args.train_batch_size, args.workers, shuffle=True)
    eval_loader = loader(data["validation"], args.eval_batch_size, args.workers, shuffle=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, fused=True)
    total = math.ceil(len(train_loader) / args.accumulate) * args.epochs
    scheduler = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=total)
    model, optimizer, train_loader, eval_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, eval_loader, scheduler
    )

    completed = 0
    since, batches_since = time.perf_counter(), 0
    window = []
    for epoch in range(args.epochs):
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            window.append(loss.detach())
            batches_since += 1
            completed += accelerator.sync_gradients
            if len(window) == args.log_every:
                mean = torch.stack(window).mean().item()
                window.clear()
                now = time.perf_counter()
                logger.info("step %d: loss %.3f, %.2f batches/s", completed, mean, batches_since / (now - since))
                since, batches_since = now, 0
            if completed > 0 and completed % args.save_every == 0 and accelerator.sync_gradients:
                accelerator.save_state(f"{args.output}/{completed}")
        logger.info("epoch %d: perplexity %.2f", epoch, math.exp(evaluate(model, eval_loader, accelerator)))

    accelerator.wait_for_everyone()
    accelerator.unwrap_model(model).save_pretrained(args.output)
    if accelerator.is_main_process:
        tokenizer.save_pretrained(args.output)


if __name__ == "__main__":
    main()
