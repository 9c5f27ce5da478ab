"""strata repro: exit status 0 same, 1 different, 2 the artifact cannot be read, 3 it cannot run here."""


def repro(args):
    from ..artifacts.repro import main

    return main(args.path, args.rebuild)
