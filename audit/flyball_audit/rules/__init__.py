"""The list of rules, one line each; how a rule is written.

A rule is a file with a `look(module, project)` that yields a `Match` for each node that shows the fault, and a `RULE`
that names it. If one of some `words` must stand in any file that shows the fault, the `RULE` says so, and other files
cost nothing. What `look` may ask:

- `module.all(ast.Call)`, `.functions`, `.loops`, `.parent(node)`, `.ancestors(node)`, `.statement(node)`,
  `.calls_of(function)`, `.calls_named("cat")`: the tree, indexed. `module.qualified(node)`: the full name of what was
  imported or defined (`torch.nn.functional.gelu`, `builtins.print`, `package.module.function` of the project), None for
  variables. `module.quote(node)`, `module.span(node)`, `module.frameworks`.
- `project.flow.value(module, node)`: a `Value` with tags (`.has(Tag.LOSS)`, `.on_device`), `made_by` and `made_at` (the
  call that made it), `definition` (the project's class or function), `items`, `element`, `field(name)`, `literal`;
  nothing known: `UNKNOWN`. `project.flow.name(module, node)`: like `qualified`, through variables too;
  `.callees(module, call)`: the project's functions that a call runs; `.records_history(module, node)`: is autograd on.
- `project.loops.training_of(module)`, `.evaluation_of(module)`: the loops as `Turns` (`.node`, `.kind`, `.hook_of` for
  a framework's `training_step`); `.supposed_of(module, kind)`: what an unseen loop runs in all likelihood, of which no
  more than a note is told (`unseen.noted`). `project.loops.regions(turns)`: the code of one turn, functions that it
  calls included; of a `Region`, `.all(ast.Call)` is what runs, `.module` where it stands (for `Match(module=…)`),
  `.rarity(node)` how seldom (None: each turn; `Rarity.PERIODIC`: `step % N`; …), `.nesting(node)` how many loops
  deeper. `project.loops.is_micro(region, node)`, `.is_over_parameters(region, node)`, `.accumulates(turns)`.
- `loaders(module, project)`: calls of DataLoader with their arguments. `waits(project, region)`: what makes the host
  wait.

Unknown is not missing: unpacked arguments and configured values are never a fault. A rule that is not sure is a note.
"""

from flyball_audit.rule import Rule
from flyball_audit.rules import (
    allreduce_every_micro_step,
    anomaly_mode,
    blocking_transfer,
    checkpoint_every_step,
    clip_before_unscale,
    cpu_tensor_then_move,
    cudnn_benchmark_unset,
    cumulative_speed_log,
    data_parallel,
    empty_cache_every_step,
    garbage_collection_every_step,
    gradient_norms_every_step,
    growing_concatenation,
    handwritten_attention,
    host_memory_growth,
    literal_eval_batch_size,
    loader_few_workers,
    loader_not_persistent,
    loader_without_pinned_memory,
    loader_without_workers,
    mask_in_forward,
    no_compile,
    no_grad_missing_in_eval,
    no_gradient_clipping,
    no_mixed_precision,
    per_item_database_writes,
    per_sample_requests,
    retain_graph_every_step,
    retained_graph,
    slow_optimizer_loop,
    small_batch,
    sync_every_step,
    sync_in_eval_loop,
    synchronize_every_step,
    tokenise_in_loop,
    whole_file_per_item,
    zero_grad_to_zero,
)

RULES: tuple[Rule, ...] = (
    sync_every_step.RULE,
    sync_in_eval_loop.RULE,
    mask_in_forward.RULE,
    gradient_norms_every_step.RULE,
    no_gradient_clipping.RULE,
    clip_before_unscale.RULE,
    literal_eval_batch_size.RULE,
    no_grad_missing_in_eval.RULE,
    cudnn_benchmark_unset.RULE,
    small_batch.RULE,
    cumulative_speed_log.RULE,
    loader_without_workers.RULE,
    loader_few_workers.RULE,
    loader_without_pinned_memory.RULE,
    loader_not_persistent.RULE,
    retained_graph.RULE,
    empty_cache_every_step.RULE,
    blocking_transfer.RULE,
    cpu_tensor_then_move.RULE,
    no_compile.RULE,
    handwritten_attention.RULE,
    no_mixed_precision.RULE,
    data_parallel.RULE,
    allreduce_every_micro_step.RULE,
    anomaly_mode.RULE,
    zero_grad_to_zero.RULE,
    host_memory_growth.RULE,
    per_sample_requests.RULE,
    per_item_database_writes.RULE,
    slow_optimizer_loop.RULE,
    tokenise_in_loop.RULE,
    checkpoint_every_step.RULE,
    synchronize_every_step.RULE,
    garbage_collection_every_step.RULE,
    retain_graph_every_step.RULE,
    growing_concatenation.RULE,
    whole_file_per_item.RULE,
)
