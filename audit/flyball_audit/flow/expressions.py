"""Following expressions: names, attributes, indexing, arithmetic, comprehensions; calls have a file of their own."""

import ast
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

from flyball_audit.flow.asked import Known, known_by
from flyball_audit.flow.derived import combine, iterated
from flyball_audit.flow.frames import DEEPEST, Frame
from flyball_audit.flow.library import TEXTS
from flyball_audit.flow.members import attribute_of, attribute_of_tensor, supposed_part
from flyball_audit.flow.values import (
    LOSS,
    MODEL,
    ON_HOST,
    PLACED,
    UNKNOWN,
    Literal,
    Tag,
    Value,
    element_of,
    join_all,
)
from flyball_audit.names import code_of

LONGEST_DISPLAY = 64
"""Elements of a list or dict in the code that are told apart: longer ones are tables."""


LITERALS_KEPT = 4096
"""The same few numbers and texts stand everywhere: their values are made once."""


def evaluate(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression, kept with its node; unknown where the code is deeper than anyone writes."""
    flow = frame.flow
    if flow.depth >= DEEPEST:
        return UNKNOWN
    if type(node) is ast.Name:  # half of all expressions: without two calls more
        value = frame.values[node] = frame.env.get(node.id) or value_elsewhere(frame, node.id)
        return value
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return UNKNOWN
    flow.depth += 1
    value = frame.values[node] = handler(frame, node)
    flow.depth -= 1
    return value


def value_elsewhere(frame: Frame, name: str) -> Value:
    """What a name holds to which the body itself gave nothing: a variable of functions around, or of the module."""
    around = frame.outer.lookup(name) if frame.outer is not None else None
    return around or frame.known.get(name) or frame.flow.global_value(frame, name)


def _constant(_frame: Frame, node: ast.Constant) -> Value:
    return _literal(node.value)


@lru_cache(LITERALS_KEPT, typed=True)
def _literal(value: Hashable) -> Value:
    return Value(ON_HOST.tags, literal=Literal(value))


def _attribute(frame: Frame, node: ast.Attribute) -> Value:
    held = evaluate(frame, node.value)
    return attribute_of(frame, held, node.attr)


def _subscript(frame: Frame, node: ast.Subscript) -> Value:
    held = evaluate(frame, node.value)
    index = evaluate(frame, node.slice)
    if index.literal is not None:
        key = index.literal.value
        if held.items is not None and isinstance(key, int) and -len(held.items) <= key < len(held.items):
            return held.items[key]
        if isinstance(key, str):
            return _differentiated(frame, node, _at_key(frame, held, key))
    if held.has(Tag.LOSS) and index.literal == Literal(0) and getattr(node.value, "attr", "") == "data":
        return ON_HOST  # `loss.data[0]`: a number, as PyTorch gave it before 0.4
    held_element = element_of(held)
    if isinstance(node.slice, ast.Slice) and (held.element is not None or held.items is not None):
        return Value(held.tags, element=held_element)
    if held_element is not None:
        return held_element
    if held.tags & PLACED or held.has(Tag.OUTPUT):
        return supposed_part(Value(held.tags - {Tag.LOSS, Tag.PARAMETER}))
    if held.has(Tag.MODEL):
        return MODEL
    return iterated(frame, held) if held.has(Tag.DATASET) else (ON_HOST if held.has(Tag.HOST) else UNKNOWN)


def _differentiated(frame: Frame, node: ast.Subscript, value: Value) -> Value:
    """An entry of which nothing is known is a loss if the module calls its `.backward()`."""
    if not value.is_unknown or not frame.backward or code_of(node) not in frame.backward:
        return value
    return LOSS if frame.grad else LOSS.without(Tag.GRAPH)


def _at_key(frame: Frame, held: Value, key: str) -> Value:
    known = held.field(key)
    if known is not None:
        return known
    if held.has(Tag.OUTPUT) or (held.has(Tag.DEVICE) and not held.has(Tag.TENSOR)):
        return attribute_of_tensor(held, key)
    if held.has(Tag.BATCH):
        return UNKNOWN if TEXTS.search(key) else Value(held.tags | {Tag.SUPPOSED})
    return element_of(held) or (attribute_of(frame, held, key) if held.has(Tag.OPTIMIZER) else UNKNOWN)


def _slice(frame: Frame, node: ast.Slice) -> Value:
    for each in (node.lower, node.upper, node.step):
        if each is not None:
            evaluate(frame, each)
    return ON_HOST


def _binary(frame: Frame, node: ast.BinOp) -> Value:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    if isinstance(node.op, ast.Mod) and _is_text(node.left):
        return ON_HOST
    if isinstance(node.op, ast.Add) and left.items is not None and right.items is not None:
        return Value(items=(*left.items, *right.items))
    return combine((left, right))


def _is_text(node: ast.expr) -> bool:
    """Whether a text is filled in: one in the code, or several put together."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _unary(frame: Frame, node: ast.UnaryOp) -> Value:
    value = evaluate(frame, node.operand)
    return ON_HOST if isinstance(node.op, ast.Not) else combine((value,))


def _bool(frame: Frame, node: ast.BoolOp) -> Value:
    return join_all([evaluate(frame, each) for each in node.values])


_HOST_COMPARISONS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


def _compare(frame: Frame, node: ast.Compare) -> Value:
    values = [evaluate(frame, node.left), *(evaluate(frame, each) for each in node.comparators)]
    if isinstance(node.ops[0], _HOST_COMPARISONS):
        return ON_HOST
    if any(each.literal is not None and isinstance(each.literal.value, str | None) for each in values):
        return ON_HOST
    if any(each.has(Tag.MODEL) for each in values):  # modules compare by identity
        return ON_HOST
    if any(map(_is_member, (node.left, *node.comparators))):
        return ON_HOST
    return combine(values).without(Tag.GRAPH, Tag.LOSS)


def _is_member(node: ast.expr) -> bool:
    """Whether it is one of an enumeration's: `Kind.FIRST`, with which tensors are not compared."""
    if not isinstance(node, ast.Attribute) or not node.attr.isupper() or not isinstance(node.value, ast.Name):
        return False
    return node.value.id[:1].isupper() and not node.value.id.isupper()


def _conditional(frame: Frame, node: ast.IfExp) -> Value:
    evaluate(frame, node.test)
    if _asks_for_device(node) and (brought := evaluate(frame, node.body)).is_brought_over:
        return brought
    return join_all(
        [
            _under(frame, each, known)
            for each, known in zip((node.body, node.orelse), known_by(frame, node.test), strict=True)
        ]
    )


def _asks_for_device(node: ast.IfExp) -> bool:
    """`x.cpu() if x.is_cuda else x`, which is in one place on both ways."""
    asks = isinstance(node.test, ast.Attribute) and node.test.attr == "is_cuda"
    return asks and code_of(node.body).startswith(f"{code_of(node.orelse)}.")


def _under(frame: Frame, node: ast.expr, known: Known) -> Value:
    """The value of an expression where a condition says what variables are."""
    if not known:
        return evaluate(frame, node)
    before = frame.env
    frame.env = before | known
    value = evaluate(frame, node)
    frame.env = before
    return value


def _sequence(frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Value:
    if len(node.elts) > LONGEST_DISPLAY:
        return Value(element=join_all([evaluate(frame, each) for each in node.elts[:LONGEST_DISPLAY]]))
    values = [evaluate(frame, each) for each in node.elts]
    if any(isinstance(each, ast.Starred) for each in node.elts):
        return Value(element=join_all(values))
    return Value(items=tuple(values))


def _dict(frame: Frame, node: ast.Dict) -> Value:
    fields: dict[str, Value] = {}
    others = []
    for key, each in list(zip(node.keys, node.values, strict=True))[:LONGEST_DISPLAY]:
        value = evaluate(frame, each)
        if key is None:
            fields.update(value.fields)
            others += [value.element] if value.element is not None else []
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            fields[key.value] = value
        else:
            evaluate(frame, key)
            others.append(value)
    return Value(fields=tuple(fields.items()), element=join_all(others) if others else None)


def _starred(frame: Frame, node: ast.Starred) -> Value:
    return iterated(frame, evaluate(frame, node.value))


def _joined_text(frame: Frame, node: ast.JoinedStr) -> Value:
    for each in node.values:
        if isinstance(each, ast.FormattedValue):
            frame.values[each] = evaluate(frame, each.value)
            if isinstance(each.format_spec, ast.JoinedStr):
                _joined_text(frame, each.format_spec)
    return ON_HOST


def _comprehension(frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    before = frame.env
    frame.env = dict(before)
    for generator in node.generators:
        frame.flow.assign(frame, generator.target, iterated(frame, evaluate(frame, generator.iter)))
        for condition in generator.ifs:
            evaluate(frame, condition)
    if isinstance(node, ast.DictComp):
        evaluate(frame, node.key)
        element = evaluate(frame, node.value)
    else:
        element = evaluate(frame, node.elt)
    frame.env = before
    return Value(element=element)


def _lambda(frame: Frame, node: ast.Lambda) -> Value:
    return frame.flow.local_definition(frame, node)


def _walrus(frame: Frame, node: ast.NamedExpr) -> Value:
    value = evaluate(frame, node.value)
    frame.flow.assign(frame, node.target, value)
    return value


def _await(frame: Frame, node: ast.Await) -> Value:
    return evaluate(frame, node.value)


def _yield(frame: Frame, node: ast.Yield) -> Value:
    given = evaluate(frame, node.value) if node.value else ON_HOST
    frame.give_back(Value(element=given))
    return UNKNOWN


def _yield_from(frame: Frame, node: ast.YieldFrom) -> Value:
    frame.give_back(Value(element=iterated(frame, evaluate(frame, node.value))))
    return UNKNOWN


def _call(frame: Frame, node: ast.Call) -> Value:
    return frame.flow.call(frame, node)


_HANDLERS: dict[type[ast.AST], Callable[[Frame, Any], Value]] = {
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Starred: _starred,
    ast.JoinedStr: _joined_text,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Call: _call,
}
"""Each takes a node of the type that it stands under."""
