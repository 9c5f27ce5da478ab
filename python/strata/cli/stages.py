"""The walk of a tensor through the compiler: docs/internals/stages.md is what stages() gives."""

import re

from .. import Tensor, _strata

PAGE = """# From a tensor to machine code

Row softmax of a {rows} x {columns} matrix, as `strata explain --stages` prints it. Each section shows what a stage of the compiler
makes of it for {arch}, without any other compiler. ARCHITECTURE.md says where each stage stands.

```python
Tensor.empty({rows}, {columns}).softmax(axis=1)
```

## The tensor

ops: a lazy graph of what is to be computed; equal parts are one node.

```text
{tensor}```

## The schedule

codegen/schedule: one kernel. The largest value of each row, the sum of the exponentials and the quotients all need the row, and a
block has it in registers.

```text
{schedule}```

## The kernel

codegen/kernel: movement operations have become arithmetic of indices over ranges. Two reductions close the range of a row, and the
end that stores it does.

```text
{kernel}```

## Its schedule

codegen/optimize: the actions that the heuristic takes; a search would try others.

```text
{optimize}```

## Operations in order

codegen/linear has made loops, threads and vectors, codegen/decompose what instructions do of each operation: the exponential is a
polynomial's work around `v_exp_f32`.

```text
{decompose}```

## Instructions

codegen/lower selects instructions over registers without number; `predicate` is a mask of lanes.

```text
{select}```

## Machine code

The passes of codegen/machine/passes.def: registers and an order for the code, waits for what memory brings, distances and delays that
the hardware asks for. A comment says which operation instructions are for.

```asm
{emit}```
"""  # noqa: E501  (lines of the page)


def stages(arch="gfx1100", rows=512, columns=64):
    """The page as Markdown: what every stage makes of row softmax for an arch."""
    (tensor,), kernel = _strata._stages(Tensor.empty(rows, columns).softmax(axis=1), arch)
    numbers = {}
    page = PAGE.format(rows=rows, columns=columns, arch=arch, tensor=tensor[1], **dict(kernel))
    # Buffers are numbered in order of appearance.
    return re.sub(r"#(\d+) size", lambda buffer: f"#{numbers.setdefault(buffer[1], len(numbers))} size", page)
