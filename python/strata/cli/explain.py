"""strata explain: the kernels of an expression, or the stages of one kernel."""

import strata

from . import stages


def explain(args):
    if args.stages:
        return print(stages.stages(args.arch), end="")
    if not args.expression:
        raise strata.UsageError(
            "what is to be explained? strata explain 'Tensor.empty(64, 256).softmax(-1)', or --stages"
        )
    try:
        explained = strata.explain(
            eval(args.expression, {"strata": strata, "Tensor": strata.Tensor, "dtypes": strata.dtypes}),
            memory=args.memory,
        )
    except (strata.Error, MemoryError):
        raise
    except Exception as e:  # of an expression that may be any
        raise strata.UsageError(f"{args.expression}: {type(e).__name__}: {e}") from None
    print(explained, end="")
