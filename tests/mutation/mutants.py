"""Mutants: the source of a module in, copies of its tree with one small fault each out.

The order is that of the source, so that the number of a mutant names the same fault in every run. Left alone
are docstrings, annotations, decorators, and the text of messages.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.MatMult: ast.Mult,
}  # fmt: skip
DROPPED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)


@dataclass(frozen=True)
class Mutant:
    """One fault: the number and the text of its line, what changes, and the tree of the whole module.

    A constant is shown with the expression or the statement around it.
    """

    line: int
    text: str
    before: str
    after: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"line {self.line}: {self.before}  →  {self.after}"


def mutants(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a module, in the order of its source."""
    tree, lines = ast.parse(source), ["", *source.splitlines()]
    for number, (_, node) in enumerate(_places(tree)):
        for change in _changes(node):
            fresh = ast.parse(source)  # several times as fast as a copy
            parent, target = list(_places(fresh))[number]
            in_context = isinstance(target, ast.Constant) and not isinstance(parent, ast.Module)
            before = _shown(parent if in_context else target)
            replacement = change(target)
            if replacement is not target:
                _replace(fresh, target, replacement)
            ast.fix_missing_locations(fresh)
            after = _shown(parent if in_context else replacement)
            line = getattr(node, "lineno", 0)
            yield Mutant(line, lines[line].strip(), before, after, fresh)


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node).splitlines()
    return text[0] + (" …" if len(text) > 1 else "")


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield the nodes that may be changed, each with its parent; parents first."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(
                child, (ast.JoinedStr, ast.Import, ast.ImportFrom)
            ):
                continue
            yield node, child
            yield from _places(child)


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list) and any(item is old for item in value):
                value[next(i for i, item in enumerate(value) if item is old)] = new


def _changes(node: ast.AST):  # type: ignore[no-untyped-def]
    """Yield functions that take a copy of the node and return what stands in its place."""
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            yield lambda n, at=at, operator=operator: _set_item(n.ops, at, COMPARISONS[type(operator)](), n)
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        yield lambda n: _set(n, "op", OPERATORS[type(n.op)]())
    elif isinstance(node, ast.BoolOp):
        yield lambda n: _set(n, "op", ast.Or() if isinstance(n.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp):
        yield lambda n: n.operand
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield lambda n: _set(n, "test", ast.UnaryOp(ast.Not(), n.test))
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield lambda n: ast.Constant(not n.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield lambda n: ast.Constant(n.value + 1)
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if isinstance(node, DROPPED) or is_call:
        yield lambda n: ast.Pass()


def _set(node: ast.AST, name: str, value: ast.AST) -> ast.AST:
    setattr(node, name, value)
    return node


def _set_item(items: list[ast.cmpop], at: int, value: ast.cmpop, node: ast.AST) -> ast.AST:
    items[at] = value
    return node
