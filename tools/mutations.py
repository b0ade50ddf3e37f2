"""The small changes that can be made to a module, one at a time."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

COMPARED = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.Is: ast.IsNot, ast.In: ast.NotIn}
SWAPPED = COMPARED | {new: old for old, new in COMPARED.items()} | {ast.And: ast.Or, ast.Or: ast.And}
SWAPPED |= {ast.Add: ast.Sub, ast.Sub: ast.Add}
RENAMED = {"min": "max", "max": "min", "reversed": "iter", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    """What was changed: the statement at the top of the module, the innermost one and its line, the node's line, and in words."""

    top: ast.stmt
    statement: int
    line: int
    change: str


def changed(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901, PLR0912  a case for each kind of change
    """What may stand in the place of a node."""
    match node:
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                yield ast.Compare(
                    node.left, [*node.ops[:at], SWAPPED[type(operator)](), *node.ops[at + 1 :]], node.comparators
                )
        case ast.BoolOp():
            yield ast.BoolOp(SWAPPED[type(node.op)](), node.values)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.If():
            yield from (ast.If(ast.Constant(test), node.body, node.orelse) for test in (True, False))
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.While():
            yield ast.While(ast.Constant(False), node.body, node.orelse)
        case ast.comprehension(ifs=[_, *_]):
            yield ast.comprehension(node.target, node.iter, [], node.is_async)
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Call(func=ast.Name(id="sorted")):
            rest = [each for each in node.keywords if each.arg != "reverse"]
            flipped = [*rest, ast.keyword("reverse", ast.Constant(True))] if rest == node.keywords else rest
            yield ast.Call(node.func, node.args, flipped)
        case ast.Call(func=ast.Name(id=name)) if name in RENAMED:
            yield ast.Call(ast.Name(RENAMED[name], ast.Load()), node.args, node.keywords)
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def mutants(module: ast.Module) -> Iterator[Mutant]:
    """Every change in turn; the module has it until the next one is asked for."""

    def visit(node: ast.AST, top: ast.stmt, statement: int) -> Iterator[Mutant]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "bases"):
                continue
            for at, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                if not isinstance(child, ast.AST) or (
                    isinstance(node, ast.ClassDef) and not isinstance(child, ast.FunctionDef)
                ):
                    continue
                within = child.lineno if isinstance(child, ast.stmt) else statement
                for new in changed(child):
                    _put(node, field, at, ast.fix_missing_locations(ast.copy_location(new, child)))
                    yield Mutant(top, within, getattr(child, "lineno", within), f"{_short(child)}  ->  {_short(new)}")
                    _put(node, field, at, child)
                yield from visit(child, top, within)

    for top in module.body:
        if isinstance(top, ast.FunctionDef | ast.ClassDef | ast.Assign):
            yield from visit(top, top, top.lineno)


def _put(node: ast.AST, field: str, at: int | None, child: ast.AST) -> None:
    if at is None:
        setattr(node, field, child)
    else:
        getattr(node, field)[at] = child


def _short(node: ast.AST) -> str:
    line = ast.unparse(node).strip().partition("\n")[0]
    return line if len(line) < 90 else f"{line[:87]}..."
