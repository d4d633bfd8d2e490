"""What stands between a loop and a node in it: conditions under which the node runs less often than each step."""

import ast
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from flyball_audit.branches import before
from flyball_audit.counters import is_first, starts_anew, updates
from flyball_audit.given import constant_defaults
from flyball_audit.module import Module
from flyball_audit.names import code_of
from flyball_audit.on_gpu import on_gpu
from flyball_audit.once import clears_its_flag, fills_what_is_missing


class Rarity(Enum):
    """How a condition thins out what it guards."""

    PERIODIC = "periodic"  # `step % N == 0`, a logging flag, so many seconds later
    RARE = "rare"  # an error, a NaN, the first or last step, debugging
    EVALUATED = "evaluated"  # a module that is not told to train: in no step
    RANK = "rank"  # one process of many
    ACCUMULATED = "accumulated"  # each optimizer step instead of each micro-step
    CONFIG = "config"  # a setting decides, for the whole run
    OTHER = "other"  # depends on the data, or on what nobody knows
    ALWAYS = "always"  # holds wherever there is a GPU

    __hash__ = object.__hash__  # as for values' tags


SELDOM = frozenset({Rarity.PERIODIC, Rarity.RARE})
"""Behind these conditions nearly everything costs next to nothing."""


class Guard(NamedTuple):
    """A condition around a node."""

    rarity: Rarity
    test: ast.AST


_ACCUMULATION = re.compile(
    r"(?<!eval_)accum|sync_gradients|is_gradient_accumulation_boundary|\bupdate_freq\b|iters_to_acc|no_sync",
    re.IGNORECASE,
)
_READY = re.compile(r"(^|[._])(is_)?(initted|initialized|initialised|built)$")
"""A flag of what is set up once; no call, which asks for something else: `dist.is_initialized()` for other ranks."""
_MODE = re.compile(r"(\w+\.)*(self|model|net|network|module)\.training")
"""Whether a module is told to train."""
_RANK = re.compile(
    r"\b\w*rank\w*(\(\))?\s*(==|in|<=|<)|is_(local_|global_|world_)?(main|master|rank_?zero|chief|zero"
    r"|first(?!_?(step|iter|batch|epoch|time|call|turn|run)))\w*|(main|master)_process|is_root\b",
    re.IGNORECASE,
)
_OTHER_RANKS = re.compile(r"\b\w*rank\w*(\(\))?\s*(!=|>)\s*0", re.IGNORECASE)
_DEBUG = re.compile(r"\b\w*(debug|verbose|profil|dry_run|sanity|trace|detect_anomaly)\w*\b", re.IGNORECASE)
_FAULT = re.compile(r"\bis_?(nan|inf|finite)\b|nonfinite|non_finite|isfinite", re.IGNORECASE)
_LOGGING = re.compile(
    r"\b\w*(should|do|need|time_to|is|now|to|must|will)_?(log|print|eval|report|save|display|plot|vis|record"
    r"|summar|checkpoint|valid)\w*\b"
    r"|\b(log|print|eval|report|save|logging)_(now|step|this\w*|iter|flag|due)\b|\bcheck_interval\b",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(\w+_step|steps?|i|it|iter|idx|batch_idx|epoch|iteration|batch|n|global_step|iter_num|t|k)\s*==|len\(\w+\)\s*-\s*1"
    r"|==\s*len\(|is_last|last_(step|batch)|max_steps|total_steps|num_steps",
    re.IGNORECASE,
)
_FIRST = re.compile(r"^(\w+\.)*(is_)?first_(step|iter\w*|batch|turn)$", re.IGNORECASE)
"""A flag of one step alone."""
_OVER = re.compile(r"^(is_)?(done|finished|aborted|last)$", re.IGNORECASE)
"""A flag of a training's end."""
_CLOCK = re.compile(r"\b(time|now|elapsed|last_log\w*|perf_counter|monotonic)\b.*[<>]|tick(er)?\.\w+\(", re.IGNORECASE)
_EVERY = re.compile(
    r"(log|print|eval|save|report|display|valid|test|summar|vis|plot|ckpt|checkpoint)(\w*_)?(every|interval|freq"
    r"|steps?|period|iters?)|every_n",
    re.IGNORECASE,
)


def guards(module: Module, node: ast.AST, root: ast.AST) -> tuple[Guard, ...]:
    """The conditions on the way from `root`, exclusive, down to a node, innermost first; kept with the module."""
    key = (node, root)
    found = module.conditions.get(key)
    if found is None:
        found = module.conditions[key] = tuple(_guards(module, node, root))
    return found


def _guards(module: Module, node: ast.AST, root: ast.AST) -> Iterator[Guard]:
    below: ast.AST = node
    for above in module.ancestors(node):
        if type(above) in _CONDITIONAL or isinstance(below, ast.stmt):
            yield from (each for each in _between(module, below, above) if each.rarity is not Rarity.ALWAYS)
        if above is root:
            return
        below = above


_CONDITIONAL = frozenset({ast.If, ast.IfExp, ast.BoolOp, ast.ExceptHandler, ast.Assert})


def _between(module: Module, below: ast.AST, above: ast.AST) -> Iterator[Guard]:
    if isinstance(above, ast.If) and below is not above.test:
        once = below in above.body and (fills_what_is_missing(above) or clears_its_flag(above))
        yield Guard(Rarity.RARE if once else _rarity(module, above.test, negated=below in above.orelse), above.test)
    elif isinstance(above, ast.IfExp) and below is not above.test:
        yield Guard(_rarity(module, above.test, negated=below is above.orelse), above.test)
    elif isinstance(above, ast.BoolOp) and isinstance(above.op, ast.And) and below is not above.values[0]:
        before = above.values[: above.values.index(below)] if isinstance(below, ast.expr) else []
        yield from (Guard(_rarity(module, each, negated=False), each) for each in before)
    elif isinstance(above, ast.ExceptHandler) or (isinstance(above, ast.Assert) and below is above.msg):
        yield Guard(Rarity.RARE, above)
    if isinstance(below, ast.stmt):
        yield from _skips(module, below, above)
        if _leads_to_raise(below, above):
            yield Guard(Rarity.RARE, below)


def _skips(module: Module, below: ast.stmt, above: ast.AST) -> Iterator[Guard]:
    """`if …: continue` and its like, before a statement in the same block; what nobody knows is the exception there."""
    for each in before(above, below):
        if isinstance(each, ast.If) and not each.orelse and isinstance(each.body[-1], _JUMPS):
            rarity = _rarity(module, each.test, negated=True)
            if rarity is not Rarity.OTHER:
                yield Guard(rarity, each.test)


_JUMPS = (ast.Continue, ast.Return, ast.Break)
"""After an exception no step follows at all: a check of arguments says nothing of how often the rest runs."""


def _leads_to_raise(below: ast.stmt, above: ast.AST) -> bool:
    """A block that ends in an exception or the program's end runs once; one that says what is skipped, seldom."""
    if isinstance(below, ast.Raise):
        return True
    if not isinstance(above, ast.If):
        return False
    block: Sequence[ast.stmt] = above.body if below in above.body else above.orelse
    last = block[-1] if block else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return code_of(last.value.func) in {"sys.exit", "exit", "quit", "os._exit"}
    return isinstance(last, ast.Raise | ast.Break) or _only_says_that_it_skips(block)


def _only_says_that_it_skips(block: Sequence[ast.stmt]) -> bool:
    """`logger.warning("skipped"); continue`: the turn that is left out is the exception."""
    calls = all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) for each in block[:-1])
    return len(block) > 1 and calls and isinstance(block[-1], ast.Continue)


def _rarity(module: Module, test: ast.expr, *, negated: bool) -> Rarity:
    """How much rarer what a condition guards is."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _rarity(module, test.operand, negated=not negated)
    if isinstance(test, ast.BoolOp):
        return _of_several(module, test, negated=negated)
    holds = on_gpu(test)
    if holds is not None:
        return Rarity.RARE if holds is negated else Rarity.ALWAYS
    found = _of_membership(test, negated=negated) or _of_modulo(test, negated=negated)
    if found is not None:
        return found
    return _of_words(module, test, negated=negated)


def _of_several(module: Module, test: ast.BoolOp, *, negated: bool) -> Rarity:
    """All must hold: the rarest counts. One suffices: the most frequent counts."""
    each = [_rarity(module, value, negated=negated) for value in test.values]
    order = list(Rarity)
    if isinstance(test.op, ast.And) is not negated:
        return min(each, key=order.index)
    often = [rarity for rarity in each if rarity is not Rarity.RARE]  # `… or step + 1 == len(loader)` adds one turn
    return max(often or each, key=order.index)


def _of_modulo(test: ast.expr, *, negated: bool) -> Rarity | None:
    """`step % N == 0`, `not step % N`, `step % N == N - 1`; None if no remainder is looked at."""
    plain = isinstance(test, ast.Compare) and len(test.ops) == 1
    left = test.left if isinstance(test, ast.Compare) else test
    if not (isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod)):
        return None
    equal = plain and isinstance(test.ops[0], ast.Eq) if isinstance(test, ast.Compare) else False
    if equal is negated:
        return Rarity.OTHER  # the many steps in between
    if isinstance(left.right, ast.Constant) and left.right.value == 1:
        return Rarity.OTHER
    return Rarity.ACCUMULATED if _ACCUMULATION.search(code_of(test)) else Rarity.PERIODIC


def _of_membership(test: ast.expr, *, negated: bool) -> Rarity | None:
    """`step in checkpoints`, `step % n in checkpoints`; None if no step is looked for among some that are listed."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In | ast.NotIn):
        return None
    asked, listed = test.left, test.comparators[0]
    while isinstance(asked, ast.BinOp) and isinstance(asked.op, ast.Add | ast.Sub):
        asked = asked.left
    counts = _COUNTER.search(code_of(asked)) or (isinstance(asked, ast.BinOp) and isinstance(asked.op, ast.Mod))
    if not counts or not isinstance(listed, ast.Name | ast.Attribute | ast.List | ast.Set | ast.Tuple):
        return None
    if isinstance(test.ops[0], ast.In) is negated:
        return Rarity.OTHER  # the many steps in between
    return Rarity.ACCUMULATED if _ACCUMULATION.search(code_of(test)) else Rarity.PERIODIC


_COUNTER = re.compile(
    r"(^|[._])(steps?|iter|itr|iteration|epoch|batch_idx)(_?(num|idx|ndx|index|count|no))?$", re.IGNORECASE
)


def _of_words(module: Module, test: ast.expr, *, negated: bool) -> Rarity:
    text = code_of(test)
    if _ACCUMULATION.search(text):
        return Rarity.ACCUMULATED
    state = _of_state(module, test, text, negated=negated)
    if state is not None:
        return state
    if _FAULT.search(text):
        return Rarity.OTHER if _means_sound(text, negated=negated) else Rarity.RARE
    if _RANK.search(text):
        return Rarity.OTHER if negated else Rarity.RANK
    if _OTHER_RANKS.search(text):
        return Rarity.RANK if negated else Rarity.OTHER
    if negated:
        return Rarity.CONFIG if _is_setting(module, test) else Rarity.OTHER
    if _DEBUG.search(text):
        return Rarity.CONFIG if _is_on_unless_told(module, test) else Rarity.RARE
    if _LOGGING.search(text) or _CLOCK.search(text) or _EVERY.search(text):
        return Rarity.PERIODIC
    if _FIRST.search(text) or _OVER.search(text) or (_ENDS.search(text) and isinstance(test, ast.Compare)):
        return Rarity.RARE
    if isinstance(test, ast.Name):
        return _of_variable(module, test)
    return Rarity.CONFIG if _is_setting(module, test) else Rarity.OTHER


def _of_state(module: Module, test: ast.expr, text: str, *, negated: bool) -> Rarity | None:
    """What modes, flags and counters tell that the code keeps itself."""
    if negated:
        return Rarity.EVALUATED if _MODE.fullmatch(text) else Rarity.RARE if _READY.search(text) else None
    if is_first(module, test):
        return Rarity.RARE
    block = starts_anew(module, test)
    if block is None:
        return None
    return Rarity.ACCUMULATED if updates(block) else Rarity.PERIODIC


def _is_on_unless_told(module: Module, test: ast.expr) -> bool:
    """Whether a condition asks for an argument whose default holds: `verbose=1`, as Keras' users know it."""
    function = module.function_of(test)
    if function is None:
        return False
    on = {name for name, default in constant_defaults(function).items() if default.value}
    return any(isinstance(each, ast.Name) and each.id in on for each in ast.walk(test))


def _means_sound(text: str, *, negated: bool) -> bool:
    """Whether what is guarded runs when the numbers are sound, as they nearly always are."""
    asks_sound = "finite" in text.lower() and "non" not in text.lower()
    return asks_sound is not negated


def _of_variable(module: Module, test: ast.Name) -> Rarity:
    """A flag: what the function gave it last, or a setting."""
    function = module.function_of(test) or module.tree
    for each in reversed(module.all(ast.Assign)):
        named = any(isinstance(target, ast.Name) and target.id == test.id for target in each.targets)
        above = (each.end_lineno or each.lineno) < test.lineno  # `flag = flag and …` says nothing of itself
        if named and above and (module.function_of(each) or module.tree) is function:
            if isinstance(each.value, ast.Compare | ast.BoolOp | ast.UnaryOp):
                return _rarity(module, each.value, negated=False)
            return Rarity.OTHER if isinstance(each.value, ast.Constant) else Rarity.CONFIG
    return Rarity.CONFIG


_SETTINGS = re.compile(r"^(self\.)?(args|cfg|config|conf|opts?|flags|FLAGS|hparams|hp|params|settings|training_args)\b")


def _is_setting(module: Module, test: ast.expr) -> bool:
    """A name or attribute by itself, or compared with None: decided before the loop."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        ends = test.comparators[0]
        if isinstance(test.ops[0], ast.Is | ast.IsNot) and isinstance(ends, ast.Constant):
            return _is_setting(module, test.left)
        if isinstance(test.left, ast.Attribute) and isinstance(ends, ast.Constant) and isinstance(ends.value, str):
            return code_of(test.left).startswith("self.")  # `self.pooling == "mean"`: which kind of it there is
        return bool(_SETTINGS.match(code_of(test.left)))
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        return test.func.attr == "is_available"
    return isinstance(test, ast.Name | ast.Attribute)
