"""A model's own functions, put in the place of the nodes that call them."""

from .._strata import Unsupported, UsageError

MOST_NODES, MOST_BYTES = 1 << 20, 1 << 31


def _calls(nodes):
    for node in nodes:
        yield node
        for a in node.attribute:
            for graph in (*([a.g] if a.HasField("g") else ()), *a.graphs):
                yield from _calls(graph.node)


def _key(node):
    return node.domain, node.op_type, node.overload


def _sizes(model):
    """(nodes, bytes) that come of the model with every call replaced, before anything is made."""
    bodies = {(f.domain, f.name, f.overload): f for f in model.functions}
    known, open_ = {}, set()

    def of(nodes):
        count, size = 0, 0
        for node in _calls(nodes):
            inner = found(_key(node)) if _key(node) in bodies else (1, 0)
            count, size = count + inner[0], size + inner[1] + node.ByteSize()
        return count, size

    def found(key):
        if key in open_:
            raise UsageError(f"[onnx] the model's own functions cannot be put in place: '{key[1]}' calls itself")
        if key not in known:
            open_.add(key)
            known[key] = of(bodies[key].node)
            open_.discard(key)
        return known[key]

    return of(model.graph.node)


def inlined(model):
    try:
        count, size = _sizes(model)
    except RecursionError:
        raise UsageError(
            "[onnx] the model's own functions cannot be put in place: they call each other more than 900 deep"
        ) from None
    if count > MOST_NODES or size > MOST_BYTES:
        raise Unsupported(
            f"[onnx] the model's own functions come to {count} nodes of {size} bytes where each call is replaced: "
            f"{MOST_NODES} and {MOST_BYTES} are the most"
        )
    try:
        from onnx import inliner

        return inliner.inline_local_functions(model)
    except Exception as e:
        raise UsageError(f"[onnx] the model's own functions cannot be put in place: {type(e).__name__}: {e}") from None
