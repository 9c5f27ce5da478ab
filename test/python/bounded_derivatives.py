"""Derivatives of programs on bounded values, with their bounds."""

import numpy as np
from bounded import LEAST, UNIT, Bounded, Node, untracked


def derivatives(y, nodes):
    """By each of the nodes, of the sum of y."""
    found, waiting = {}, {}
    if y.node is not None:
        found[y.node], waiting[y.node.serial] = [Bounded(np.ones(y.shape), y.dtype)], y.node
    while waiting:
        node = waiting.pop(max(waiting))
        found[node] = summed(found[node])
        if node in nodes:
            continue
        for parent, back in node.parents:
            found.setdefault(parent, []).append(back(found[node]))
            waiting[parent.serial] = parent
    return [found.get(node) for node in nodes]


def summed(parts):
    """The sum of derivatives of one type, in any order."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    if len(parts) > 2:
        size = sum(abs(part.v) + part.e for part in parts)
        total.e = sum(part.e for part in parts) + (len(parts) - 1) * (UNIT[total.dtype] * size + LEAST[total.dtype])
    return total


def value_and_grad(f, argnums):
    """f's value, of one element, and its derivatives by those arguments."""

    def both(*arguments):
        given = list(arguments)
        for i in argnums:
            given[i] = untracked(arguments[i])
            given[i].node = Node([])
        y = f(*given)
        found = derivatives(y, [given[i].node for i in argnums])
        return y, tuple(
            Bounded(np.zeros(x.shape), x.dtype) if g is None else g for g, x in zip(found, (given[i] for i in argnums))
        )

    return both
