"""Output of the examples that train: a bar while they run, and the loss as a picture (matplotlib) or as text."""

import sys
import time


def steps(count, what):
    """0 to count - 1, with a bar on a terminal."""
    start = time.time()
    for i in range(count):
        yield i
        if sys.stderr.isatty():
            done, left = i + 1, (time.time() - start) / (i + 1) * (count - i - 1)
            bar = "#" * (40 * done // count)
            sys.stderr.write(
                f"\r{what} [{bar:<40}] {done} of {count}, {left:.0f} s left " + ("\n" if done == count else "")
            )


def plot(losses, title, path):
    """The losses of all steps, as PNG at the path where matplotlib is installed, else as rows of text."""
    try:
        import matplotlib
    except ImportError:
        width = max(1, len(losses) // 16)
        means = [sum(losses[i : i + width]) / len(losses[i : i + width]) for i in range(0, len(losses), width)]
        for i, mean in enumerate(means):
            print(f"{i * width:5d} {mean:7.3f} {'#' * round(60 * mean / max(means))}")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.plot(losses)
    pyplot.title(title), pyplot.xlabel("step"), pyplot.ylabel("loss")
    pyplot.savefig(path)
    print(f"the loss of each step: {path}")
