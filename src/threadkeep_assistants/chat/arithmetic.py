"""Arithmetic as a tool: an expression is parsed, checked piece by piece and worked out; nothing of it is ever run. Each
number is bounded before it is worked out: a short expression can stand for one that fills the memory."""

import ast
import math
import operator
from collections.abc import Callable

from threadkeep.errors import InvalidValue
from threadkeep.tools.decorator import tool

MOST_CHARACTERS = 500
MOST_DIGITS = 1_000

Number = int | float
_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_NAMES = {"pi": math.pi, "e": math.e}


@tool(repeatable=True)
def calculate(expression: str) -> str:
    """Work out an arithmetic expression.

    Args:
        expression: Numbers with + - * / // % ** and brackets, pi, e; abs, max, min, sqrt, log, sin, cos, tan.
    """
    return value_of(expression)


def value_of(expression: str) -> str:
    """Return the value of an expression as text. Raises InvalidValue if it has none."""
    if len(expression) > MOST_CHARACTERS:
        raise InvalidValue(f"An expression has at most {MOST_CHARACTERS} characters.")
    written = expression.strip().replace("^", "**").replace("×", "*").replace("÷", "/")  # noqa: RUF001 - as people write
    try:
        value = _value(ast.parse(written, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError, TypeError):
        raise InvalidValue(f"{expression!r} is no arithmetic expression.") from None
    except ZeroDivisionError:
        raise InvalidValue("A division by zero has no value.") from None
    except OverflowError:
        raise InvalidValue(f"That is too large: numbers here have at most {MOST_DIGITS:,} digits.") from None
    except ValueError:
        raise InvalidValue("That has no value among the real numbers.") from None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value) if isinstance(value, int) else f"{value:.12g}"


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            return -_value(operand) if isinstance(sign, ast.USub) else _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _bounded(_BINARY[type(sign)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*map(_value, args)))
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case _:
            raise SyntaxError


def _power(base: Number, exponent: Number) -> Number:
    """Return a power, unless it would have too many digits: that is known before it is worked out."""
    if abs(base) > 1 and exponent * math.log10(abs(base)) > MOST_DIGITS:
        raise OverflowError
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError("no real number")
    return _bounded(value)


def _bounded(value: Number) -> Number:
    if not math.isfinite(value) if isinstance(value, float) else abs(value) >= 10**MOST_DIGITS:
        raise OverflowError
    return value


_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "max": max,
    "min": min,
    **{name: getattr(math, name) for name in ("sqrt", "log", "sin", "cos", "tan")},
}
