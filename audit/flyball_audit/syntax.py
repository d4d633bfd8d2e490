"""Changes made to a piece of Python through its concrete syntax tree (libcst): spaces and comments stay."""

from collections.abc import Iterable, Sequence
from typing import TypeVar, cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from flyball_audit.edits import Unplaceable
from flyball_audit.finding import Action, Change

Line = cst.SimpleStatementLine | cst.BaseCompoundStatement
Block = TypeVar("Block", cst.Module, cst.IndentedBlock)

_OF_STATEMENTS = {Action.REMOVE, Action.BEFORE, Action.AFTER}
_OF_CALLS = {Action.SET_ARGUMENT, Action.DROP_ARGUMENT}
_LOOSE = (
    cst.BinaryOperation, cst.BooleanOperation, cst.Comparison, cst.UnaryOperation, cst.IfExp, cst.Lambda, cst.Await,
    cst.NamedExpr, cst.Tuple, cst.Yield,
)  # fmt: skip
"""Expressions that need parentheses where a name, a call or a literal needs none."""


def rewritten(code: str, changes: Sequence[Change], lines_before: int) -> str:
    """Whole statements of a file after changes, whose lines count from the file's beginning."""
    try:
        wrapper = MetadataWrapper(cst.parse_module(code), unsafe_skip_copy=True)
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise Unplaceable(f"libcst cannot parse the statement: {error}") from None
    nodes: dict[tuple[int, int, int, int], list[cst.CSTNode]] = {}
    for node, place in wrapper.resolve(PositionProvider).items():
        nodes.setdefault(_key(place, lines_before), []).append(node)
    wanted: dict[cst.CSTNode, list[Change]] = {}
    for change in changes:
        wanted.setdefault(_target(change, nodes), []).append(change)
    try:
        left = wrapper.module.visit(_Rewriter(wanted)).code
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        raise Unplaceable(f"the change does not fit at this place: {error}") from None
    return left if left.strip() else ""


def _key(place: CodeRange, lines_before: int) -> tuple[int, int, int, int]:
    start, end = place.start, place.end
    return (start.line + lines_before, start.column + 1, end.line + lines_before, end.column + 1)


def _target(change: Change, nodes: dict[tuple[int, int, int, int], list[cst.CSTNode]]) -> cst.CSTNode:
    span = change.span
    there = nodes.get((span.line, span.column, span.end_line, span.end_column), [])
    if change.action in _OF_CALLS:
        kinds: tuple[type[cst.CSTNode], ...] = (cst.Call,)
    elif change.action in _OF_STATEMENTS:
        kinds = (cst.BaseSmallStatement, cst.BaseCompoundStatement)
    else:
        kinds = (cst.BaseSmallStatement, cst.BaseExpression) if _is_statement(change.text) else (cst.BaseExpression,)
    for kind in kinds:
        if found := next((node for node in there if isinstance(node, kind)), None):
            return found
    raise Unplaceable(f"no code to {change.action} at {span.line}:{span.column}")


def _is_statement(text: str) -> bool:
    try:
        cst.parse_expression(text)
    except cst.ParserSyntaxError:
        return True
    return False


class _Rewriter(cst.CSTTransformer):
    """Makes the wanted changes on the way up, so that changes inside of changed nodes hold."""

    def __init__(self, wanted: dict[cst.CSTNode, list[Change]]) -> None:
        super().__init__()
        self.wanted = wanted

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        """Change one node; its parts have been left already."""
        return cast("cst.CSTNodeT", self._changed(original_node, updated_node))

    def _changed(self, original: cst.CSTNode, updated: cst.CSTNode) -> cst.CSTNode:
        if isinstance(original, cst.Module) and isinstance(updated, cst.Module):
            return self._body(original, updated)
        if isinstance(original, cst.IndentedBlock) and isinstance(updated, cst.IndentedBlock):
            block = self._body(original, updated)
            return block if block.body else block.with_changes(body=[_pass()])
        if isinstance(original, cst.SimpleStatementSuite) and isinstance(updated, cst.SimpleStatementSuite):
            return self._suite(original, updated)
        for change in self.wanted.get(original, ()):
            if isinstance(updated, cst.Call) and change.action in _OF_CALLS:
                updated = _argument(updated, change)
            elif isinstance(updated, cst.BaseExpression) and change.action is Action.REPLACE:
                updated = _expression(updated, change.text)
            elif isinstance(updated, cst.BaseSmallStatement) and change.action is Action.REPLACE:
                updated = _small(updated, change.text)
        return updated

    def _suite(self, original: cst.SimpleStatementSuite, updated: cst.SimpleStatementSuite) -> cst.SimpleStatementSuite:
        """`if x: a(); b()`: what goes, goes from its line."""
        for each in original.body:
            if any(change.action in {Action.BEFORE, Action.AFTER} for change in self.wanted.get(each, ())):
                raise Unplaceable("the statement is on the line of its condition: move it to a line of its own first")
        body = self._small_statements(original.body, updated.body)
        return updated.with_changes(body=body or [cst.Pass()])

    def _body(self, original: Block, updated: Block) -> Block:
        lines: list[Line] = []
        comments: list[cst.EmptyLine] = []  # above what went: they stay
        for before, now in zip(map(_line, original.body), map(_line, updated.body), strict=True):
            for each in self._lines(before, now):
                lines.append(_led(comments, each))
                comments = []
            if self._goes(before):
                kept = list(now.leading_lines)
                comments += kept if any(empty.comment for empty in kept) else []
        return updated.with_changes(body=lines, footer=[*comments, *updated.footer])

    def _goes(self, statement: cst.CSTNode) -> bool:
        """Whether nothing of a line is left."""
        small = statement.body if isinstance(statement, cst.SimpleStatementLine) else [statement]
        return all(any(change.action is Action.REMOVE for change in self.wanted.get(each, ())) for each in small)

    def _lines(self, original: Line, updated: Line) -> Iterable[Line]:
        small = original.body if isinstance(original, cst.SimpleStatementLine) else [original]
        changes = [change for each in small for change in self.wanted.get(each, ())]
        around = [change for change in changes if change.action in {Action.BEFORE, Action.AFTER}]
        if len(small) > 1 and around:
            raise Unplaceable("the statement shares its line with others: move it to a line of its own first")
        before = [line for change in around if change.action is Action.BEFORE for line in _statements(change.text)]
        after = [line for change in around if change.action is Action.AFTER for line in _statements(change.text)]
        if before:
            blank, rest = _split(updated.leading_lines)
            before[0] = before[0].with_changes(leading_lines=blank)
            updated = updated.with_changes(leading_lines=rest)
        if self._goes(original):
            return [*before, *after]
        if isinstance(original, cst.SimpleStatementLine) and isinstance(updated, cst.SimpleStatementLine):
            updated = updated.with_changes(body=self._small_statements(original.body, updated.body))
        return [*before, updated, *after]

    def _small_statements(
        self, original: Sequence[cst.BaseSmallStatement], updated: Sequence[cst.BaseSmallStatement]
    ) -> list[cst.BaseSmallStatement]:
        kept = [now for before, now in zip(original, updated, strict=True) if not self._goes(before)]
        if kept and len(kept) < len(original):
            kept[-1] = kept[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        return kept


def _pass() -> cst.SimpleStatementLine:
    return cst.SimpleStatementLine(body=[cst.Pass()])


def _split(leading: Sequence[cst.EmptyLine]) -> tuple[list[cst.EmptyLine], list[cst.EmptyLine]]:
    """Blank lines, and what begins with the first comment, which belongs to the statement below it."""
    first = next((number for number, line in enumerate(leading) if line.comment), len(leading))
    return list(leading[:first]), list(leading[first:])


def _line(statement: cst.BaseStatement) -> Line:
    return cast("Line", statement)  # there are no other statements


def _led(comments: Sequence[cst.EmptyLine], line: Line) -> Line:
    return line.with_changes(leading_lines=[*comments, *line.leading_lines]) if comments else line


def _statements(text: str) -> list[Line]:
    return list(cst.parse_module(text).body)


def _small(statement: cst.BaseSmallStatement, text: str) -> cst.BaseSmallStatement:
    small = [
        each for line in _statements(text) for each in (line.body if isinstance(line, cst.SimpleStatementLine) else ())
    ]
    if len(small) != 1:
        raise Unplaceable("the change would put more than one statement in the place of one")
    return small[0].with_changes(semicolon=statement.semicolon)


def _expression(node: cst.BaseExpression, text: str) -> cst.BaseExpression:
    """The new expression in the old one's parentheses, or in some of its own where it binds less tightly."""
    new = cst.parse_expression(text)
    if node.lpar:
        return new.with_changes(lpar=node.lpar, rpar=node.rpar)
    if isinstance(new, _LOOSE) and not new.lpar and not isinstance(node, _LOOSE):
        return new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return new


def _argument(call: cst.Call, change: Change) -> cst.Call:
    at = next((n for n, each in enumerate(call.args) if each.keyword and each.keyword.value == change.name), None)
    if change.action is Action.DROP_ARGUMENT:
        if at is None:
            raise Unplaceable(f"the call has no argument {change.name}")
        return _dropped(call, at)
    if at is not None:
        args = list(call.args)
        args[at] = args[at].with_changes(value=cst.parse_expression(change.text))
        return call.with_changes(args=args)
    return _added(call, change)


def _dropped(call: cst.Call, at: int) -> cst.Call:
    args = list(call.args)
    gone = args.pop(at)
    if not args:
        return call.with_changes(args=[], whitespace_before_args=cst.SimpleWhitespace(""))
    if at == len(args):
        args[-1] = args[-1].with_changes(comma=gone.comma, whitespace_after_arg=gone.whitespace_after_arg)
    return call.with_changes(args=args)


def _added(call: cst.Call, change: Change) -> cst.Call:
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Arg(cst.parse_expression(change.text), keyword=cst.Name(change.name), equal=tight)
    if not call.args:
        return call.with_changes(args=[new])
    last = call.args[-1]
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        raise Unplaceable("a generator without parentheses must be the only argument")
    commas = [each.comma.whitespace_after for each in call.args[:-1] if isinstance(each.comma, cst.Comma)]
    between = commas[0] if commas else _space(call)
    joined = last.with_changes(comma=cst.Comma(whitespace_after=between), whitespace_after_arg=cst.SimpleWhitespace(""))
    new = new.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    return call.with_changes(args=[*call.args[:-1], joined, new])


def _space(call: cst.Call) -> cst.BaseParenthesizableWhitespace:
    """What stands between arguments: new lines where the first one has a line of its own."""
    before = call.whitespace_before_args
    return before if isinstance(before, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace(" ")
