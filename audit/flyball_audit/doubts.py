"""Why a finding is no more than a note: what an expert would ask about the value, or the code around it."""

import ast
import re
from collections.abc import Iterable, Iterator
from enum import Enum

from flyball_audit.flow.values import Tag
from flyball_audit.guards import Rarity, guards
from flyball_audit.host_work import feeds_host
from flyball_audit.loops import PART, Turns
from flyball_audit.mentions import stays_on_host
from flyball_audit.module import Function, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.regions import Region
from flyball_audit.steering import (
    asks_if_sound,
    chooses_loss,
    condition_around,
    ends_turns,
    ends_turns_by_number,
    evaluates,
    fits,
    keeps_best,
    refuses,
    sets_optimizer,
    sizes,
)
from flyball_audit.unasked import is_off_setting, is_turn_optional, is_unasked
from flyball_audit.wait import ASKED, NUMBERS, Wait


class Doubt(Enum):
    """What is not certain, in words that end a sentence."""

    VALUE = "it is not certain that this value is a tensor on the device"
    HOST = "no audited file mentions a device"
    ARRAY = "the code treats tensors as arrays without copying them, which works only on the host"
    TRIAL = "the loop only searches for a setting or tests the code"
    ASIDE = "it is in code that saves, loads, shows or generates something, and may run only rarely"
    CONTROL = "the loop around it uses the value to decide when to stop"
    SKIPPED = "the value decides whether the rest of the step is skipped"
    INDEXED = "the guarded code indexes with the same mask, which waits as well"
    SIZED = "later tensors take their size from this value"
    ANSWER = "the function exists to return this value"
    FAR = "it depends on a condition several calls away from the loop"
    SWITCHED = "an option of the called function decides whether it runs"
    WHOLE = "the host needs the whole tensor at this point"
    CHOSEN = "the value decides which loss is used"
    BEST = "the value decides which result is kept as the best"
    OPTION = "the value sets an option of the optimizer, which is kept on the host"
    UNASKED = "it runs only with an option that is off by default"
    PERIOD = "a setting decides how often it runs; that may be in every step"
    OTHER = "it is in code for evaluation"
    BEHIND = "the condition around it already waits for the device"
    LEAVES = "the evaluation may exist to produce exactly this value"


_TRIAL = re.compile(
    r"(^|_)((find|search|suggest)_(lr|learning_rate|batch_size)|(lr|batch_size|batch)_(find\w*|search|range\w*|finder)"
    r"|range_test|probe_(?!model|train)\w+|auto_batch\w*|bench(mark)?\w*|calibrat\w*|sanity\w*|dry_run|profil\w*|debug\w*|check_\w+|try_\w+)(_|$)",
    re.IGNORECASE,
)
"""In names of functions whose few steps find something out: nobody waits for them long."""

_ASIDE = re.compile(
    r"(^|_)(save\w*|restore\w*|checkpoint\w*|ckpt|export\w*|dump\w*|plot\w*|visuali[sz]e\w*|draw\w*|render\w*|show\w*"
    r"|load_(weights?|state\w*|checkpoint|model|pretrained\w*)|state_dict|init_weights|reset_parameters|write\w*"
    r"|generate\w*|sample\w*|infer\w*|decode\w*|translate\w*|predict\w*|eval\w*|valid\w*|test\w*|summar\w*|repr)(_|$)",
    re.IGNORECASE,
)
"""In names of functions that a training turn calls now and then, or that must give Python's values."""


def doubt_of(turns: Turns, region: Region, wait: Wait) -> Doubt | None:
    """What an expert would ask first about a wait; None if he would have it changed."""
    if is_trial(turns):
        return Doubt.TRIAL
    if is_aside(region):
        return Doubt.ASIDE
    if not _is_known(wait) or _is_buffer(region, wait) or stays_on_host(turns.module):
        return Doubt.VALUE
    if any(off(region, wait.node) for off in (is_unasked, is_off_setting, is_turn_optional)):
        return Doubt.UNASKED
    if evaluates(region, wait.node):
        return Doubt.OTHER
    need = _need_of(turns, region, wait)
    if need is not None:
        return need
    if len(region.calls) >= FAR and region.rarity(wait.node) is Rarity.OTHER:
        return Doubt.FAR
    return Doubt.SWITCHED if region.calls and _is_chosen(region, wait.node) else None


def _need_of(turns: Turns, region: Region, wait: Wait) -> Doubt | None:
    """What the host needs the value for at once; of losses and norms only a loop's end is such a need."""
    if wait.copies and (_is_wanted_whole(turns, region, wait) or feeds_host(region, wait.node)):
        return Doubt.WHOLE
    if _ends_loop(region, wait.node) or ends_turns(region, wait.node):
        return Doubt.CONTROL
    if wait.does != ASKED and ends_turns_by_number(region, wait.node):
        return Doubt.CONTROL
    if keeps_best(region, wait.node):
        return Doubt.BEST
    if chooses_loss(region, wait.node):
        return Doubt.CHOSEN
    if sets_optimizer(region, wait.node):
        return Doubt.OPTION
    if wait.does == ASKED and _indexes_by(region, wait.node):
        return Doubt.INDEXED
    if wait.value.tags & _LEARNT:
        return None
    if _leaves_out(region, wait.node):
        return Doubt.SKIPPED
    if fits(region, wait.node) or (wait.reads_number and sizes(region, wait.node)):
        return Doubt.SIZED
    return Doubt.ANSWER if _answers(region, wait) else None


def is_worth_a_note(turns: Turns, region: Region, wait: Wait, doubt: Doubt | None) -> bool:
    """Whether to tell of a wait where it is no more than supposed that the code runs for each batch.

    In that code itself it is; one call down, if it is no check of arguments, and in other files if nothing is doubted.
    Of 374 places beyond, in code in which a reviewer had marked what is slow, he had marked none.
    """
    known = wait.is_plain or wait.value.is_seen_tensor
    if not wait.is_explicit and (not known or turns.hook_of == PART):
        return False
    if doubt in _TELLING_NOTHING and not (doubt is Doubt.ASIDE and _LOSS.search(code_of(wait.node))):
        return False
    if not region.calls:
        return True
    near = region.calls[0][0] is region.module and doubt is not Doubt.WHOLE
    return len(region.calls) == 1 and (near or doubt is None) and not refuses(region, wait.node)


_LOSS = re.compile(r"(^|[._])loss|_loss\b")
"""Who predicts has no loss: code that reads one trains, whatever it is called."""

_TELLING_NOTHING = frozenset({Doubt.TRIAL, Doubt.ASIDE, Doubt.CONTROL, Doubt.PERIOD})


FAR = 3
"""Calls from a loop down to a wait: from there on, who wrote the loop hardly knows of it."""


def _is_known(wait: Wait) -> bool:
    """Whether what is waited for is seen to lie on the device, or who wrote it knew that it is a tensor."""
    return wait.value.is_seen_tensor or (wait.is_explicit and wait.value.on_device)


def _is_wanted_whole(turns: Turns, region: Region, wait: Wait) -> bool:
    """Whether elements of a tensor are asked for, by a callee or of a step that others call."""
    listed = isinstance(wait.node, ast.Call) and last_name(wait.node) == "tolist"
    several = listed or not wait.value.tags & NUMBERS
    return several and (bool(region.calls) or _is_given_back(turns, wait))


def _is_given_back(turns: Turns, wait: Wait) -> bool:
    """Whether a step that others call gives it to them, at once or by a name: an action, say."""
    if turns.hook_of is None:
        return False
    statement = turns.module.statement(wait.node)
    kept = turns.module.names_in(statement.targets[0]) if isinstance(statement, ast.Assign) else frozenset[str]()
    given = turns.region.all(ast.Return)
    return isinstance(statement, ast.Return) or any(_gives(each, kept) for each in given)


def _gives(returned: ast.Return, kept: Iterable[str]) -> bool:
    """Whether a name is given back as it is, alone or as one of several."""
    value = returned.value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(isinstance(each, ast.Name) and each.id in kept for each in parts)


def _is_chosen(region: Region, node: ast.expr) -> bool:
    """Whether a switch in a function decides if it comes there: of a setting, or an argument."""
    found = guards(region.module, node, region.root)
    return any(each.rarity is Rarity.CONFIG and isinstance(each.test, ast.Name | ast.Attribute) for each in found)


def doubt_in_evaluation(turns: Turns, region: Region, wait: Wait) -> Doubt | None:
    """The same where nothing is trained: what is copied or written out there is what was asked for."""
    function = turns.module.function_of(turns.node)
    gives = function is not None and GIVING.search(function.name)
    if gives or not wait.reads_number:
        return Doubt.LEAVES
    return doubt_of(turns, region, wait)


GIVING = re.compile(
    r"(^|_)(infer\w*|predict\w*|generat\w*|decod\w*|translat\w*|transcrib\w*|extract\w*|embed\w*|encod\w*|sampl\w*"
    r"|search|export\w*|dump\w*|stream\w*|diari[sz]e\w*|enhance\w*|synthesi[sz]e\w*|convert\w*|process\w*)(_|$)",
    re.IGNORECASE,
)
"""In names of functions that go through data for what a model makes of each: that is needed on the host."""


def is_aside(region: Region) -> bool:
    """Whether a turn comes to a region through what it does now and then, or through making an object."""
    return any(_ASIDE.search(each) for each in _led_by(region)) or is_making(region)


def is_making(region: Region) -> bool:
    """Whether a constructor leads to a region: what each step makes anew is small, and set up otherwise."""
    inside = (module.function_of(call) for module, call in region.calls[1:])
    led = (*inside, region.root if region.calls else None)
    return any(isinstance(each, Function) and each.name in _CONSTRUCTORS for each in led)


_CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__new__"})


def is_trial(turns: Turns) -> bool:
    """Whether a loop belongs to a function that only finds something out."""
    return any(_TRIAL.search(each) for each in _names_around(turns.module, turns.node))


def _names_around(module: Module, node: ast.AST) -> Iterator[str]:
    own = (node,) if isinstance(node, Function) else ()
    for each in (*own, *module.ancestors(node)):
        if isinstance(each, Function | ast.ClassDef):
            yield each.name


def _is_buffer(region: Region, wait: Wait) -> bool:
    """Whether a module's own buffer is read, which lies where the module does: on the host, if nobody moves it."""
    made = [each.args[0] for each in region.module.calls_named("register_buffer") if each.args]
    names = {each.value for each in made if isinstance(each, ast.Constant)}
    return bool(names) and any(isinstance(each, ast.Attribute) and each.attr in names for each in ast.walk(wait.node))


def _led_by(region: Region) -> Iterator[str]:
    """The functions that are called on the way to a region."""
    yield from (last_name(call) for _, call in region.calls)
    if region.calls and isinstance(region.root, Function):
        yield region.root.name


def _ends_loop(region: Region, node: ast.expr) -> bool:
    """Whether a loop inside the turn goes on or ends by a condition: a search, a sequence that is made up."""
    around = region.loops(node)
    if not around:
        return False
    loop = around[0]
    if isinstance(loop, ast.While) and _holds(region, loop.test, node):
        return True
    test = condition_around(region.module, node, loop)
    return test is not None and any(isinstance(each, ast.Break | ast.Return) for each in ast.walk(test))


_LEARNT = NUMBERS | {Tag.GRADIENT, Tag.PARAMETER}
"""Whether these are sound can be asked every N steps, or of all of them at once."""


def _leaves_out(region: Region, node: ast.expr) -> bool:
    """Whether a condition on it, and that alone, decides if what follows runs: `if not mask.any(): continue`."""
    test = condition_around(region.module, node, region.root)
    if test is None or asks_if_sound(test):
        return False
    return len(test.body) == 1 and isinstance(test.body[0], ast.Continue | ast.Return)


def _indexes_by(region: Region, node: ast.expr) -> bool:
    """Whether a condition asks if a mask holds anything, and the branches take a part by it: `x[mask]`."""
    test = condition_around(region.module, node, region.root)
    if test is None:
        return False
    names = region.module.names_in(node)
    inside = [each for part in (*test.body, *test.orelse) for each in ast.walk(part)]
    indices = (each for part in inside if isinstance(part, ast.Subscript) for each in _masks(part.slice))
    if any(isinstance(each, ast.Name) and each.id in names for each in indices):
        return True
    return any(
        isinstance(each, ast.Call) and _looks_for(each) and region.module.names_in(each) & names for each in inside
    )


def _looks_for(call: ast.Call) -> bool:
    """Whether a call gives the places where a mask holds: `nonzero`, `where` without values."""
    return last_name(call) in {"nonzero", "argwhere", "masked_select"} or (
        last_name(call) == "where" and len(call.args) + len(call.keywords) <= 1
    )


def _answers(region: Region, wait: Wait) -> bool:
    """Whether a function that a step calls gives back a truth or a count: `return bool(mask.all())`, `is_causal()`."""
    call, function = wait.node, region.root
    if region.calls and isinstance(function, Function) and _PREDICATE.search(function.name):
        return wait.reads_number
    gives = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in {"bool", "int"}
    around = region.module.ancestors(call)
    return gives and bool(region.calls) and any(isinstance(each, ast.Return) for each in around)


_PREDICATE = re.compile(r"^_?(is|has|are|should|can|needs?)_")


def _masks(index: ast.expr) -> Iterator[ast.expr]:
    """What may be a mask in an index: `mask`, `~mask`, the parts of a tuple."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    yield from (each.operand if isinstance(each, ast.UnaryOp) else each for each in parts)


def _holds(region: Region, test: ast.expr, node: ast.expr) -> bool:
    return test is node or test in region.module.ancestors(node)
