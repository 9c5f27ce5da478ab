#!/usr/bin/env python3
"""Lazy tensors: an expression computes nothing until someone looks at its value.

Look at the kernel counts. Building costs none, and asking for a value runs the kernels that it needs. A value computed
once (total, below) is not computed again.
"""

import numpy as np
import strata
from strata import Tensor


def kernels_of(what, action):
    """Runs one step and says how many kernels it launched."""
    strata.reset_stats()
    value = action()
    ran = strata.stats().kernels
    print(f"  {what:<44} {'#' * ran:<4} {ran} kernel{'' if ran == 1 else 's'}")
    return value, ran


def main():
    host = np.linspace(-2, 2, 4096, dtype=np.float32).reshape(64, 64)
    x = Tensor(host)

    print("step                                           what ran on", x.device)
    y, building = kernels_of("y = (x * 2 + 1).relu().T[::2]", lambda: (x * 2 + 1).relu().T[::2])
    total, adding = kernels_of("total = y.sum()", lambda: y.sum())
    first, asking = kernels_of("total.item()", lambda: total.item())
    _, again = kernels_of("total.item(), once more", lambda: total.item())
    mean, reusing = kernels_of("(total / y.size).item(), from the total", lambda: (total / y.size).item())
    rows, looking = kernels_of("y.numpy(), for the first time", lambda: y.numpy())

    expected = np.maximum(host * 2 + 1, 0).T[::2]
    print(f"\ntotal {first:.4f}, NumPy {expected.sum():.4f};  mean {mean:.4f}, NumPy {expected.mean():.4f}")
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_allclose([first, mean], [expected.sum(), expected.mean()], rtol=1e-5)
    assert building == adding == again == 0, "building an expression ran something"
    assert asking >= 1 and reusing == looking == 1


if __name__ == "__main__":
    main()
