"""Control flow as functions, for functions without source: what the statements of a kernel become."""

from ._functions import rewritten


def cond(condition, then, other=lambda: None):
    """then() where the condition holds, else other(); what they give has one structure and one type."""
    return then() if condition else other()


def loop(numbers, body, state):
    """state = body(i, state) for each of the numbers, a range; the last state."""
    for i in numbers:
        state = body(i, state)
    return state


def while_loop(condition, body, state):
    """state = body(state) as long as condition(state) holds; the last state."""
    while condition(state):
        state = body(state)
    return state


cond, loop, while_loop = (rewritten(f, always=True) for f in (cond, loop, while_loop))
