"""strata tune: the schedules of a script's kernels are searched; files of tuning records."""

import json
import os
import runpy
import sys

import strata

from .. import _strata
from .._files import open_regular, read_regular
from .._written import written

FORMAT, VERSION = "strata tuning records", 1
OLD = "strata winners"  # the format of the last version, with its records under "winners"


def export_records(report, file, configs=()):
    """Writes what a TuneReport holds to a file that `strata tune --import` reads, here or on another machine."""
    records = report._records()
    content = {"format": FORMAT, "version": VERSION, "records": records, "configs": list(configs)}
    with written(file, "w") as out:
        out.write(json.dumps(content, indent=1) + "\n")
    return len(records) + len(configs)


def import_records(file):
    """Keeps the tuning records of a file in the cache.

    Returns how many, and a list of (kernel, why) of the records without use here. Either others are as fast, or their
    compiler is another. Raises UsageError for what is no such file.
    """
    if strata.settings()["no_cache"] or not strata.settings()["cache_dir"]:
        raise strata.UsageError(
            "tuning records are kept in the cache, which is off: no_cache, or a cache_dir that is empty"
        )
    try:
        content = json.loads(read_regular(file))
        if content["format"] not in (FORMAT, OLD):
            raise ValueError
        version, records = content["version"], content["records" if content["format"] == FORMAT else "winners"]
    except (ValueError, KeyError, TypeError):
        raise strata.UsageError(f"{file}: no file of `strata tune --export`") from None
    if version != VERSION:
        raise strata.UsageError(
            f"{file}: version {version!r} of the format; this Strata reads version {VERSION}: nothing was imported"
        )
    if not isinstance(records, list):
        raise strata.UsageError(f"{file}: its 'records' are no list")
    skipped, configs = [], content.get("configs", [])
    for record in configs if isinstance(configs, list) else []:
        if isinstance(record, dict) and isinstance(record.get("place"), str):
            _strata._lang.disk_put("configs", record["place"], json.dumps(record).encode())
        else:
            skipped.append(("?", "it is no record of a config"))
    for record in records:
        why = _strata._import_record(record) if isinstance(record, dict) else "it is no object"
        if why:
            skipped.append((record.get("kernel", "?") if isinstance(record, dict) else "?", why))
    return len(records) + len(configs) - len(skipped), skipped


def settings_of(args):
    """As variables, which all threads of the script see; nothing has read them yet."""
    given = {"search_seconds": args.seconds, "search_candidates": args.candidates, "beam": args.beam}
    for name, value in given.items():
        if value is not None:
            os.environ[f"STRATA_{name.upper()}"] = str(value)
    if args.beam is None and os.environ.get("STRATA_BEAM", "0") == "0":
        os.environ["STRATA_BEAM"] = "2"
    if strata.settings()["beam"] == 0:
        raise strata.UsageError("--beam 0 is no search; 1 is the narrowest")


def check_script(script):
    """Errors: it is neither a file of Python nor a folder that Python runs."""
    if not os.path.isdir(script):
        open_regular(script).close()
    elif not os.path.isfile(os.path.join(script, "__main__.py")):
        raise strata.UsageError(f"{script} is a folder without a __main__.py; name the script in it")


OPTIONS = {"--beam", "--seconds", "--candidates", "--export", "--import"}


def tune(args):
    if not args.script and not args.import_file:
        raise strata.UsageError("what is to be tuned? strata tune SCRIPT [arguments], or --import FILE alone")
    if args.export and not args.script:
        raise strata.UsageError("--export writes what SCRIPT's kernels are; there is no SCRIPT")
    settings_of(args)
    if args.import_file:
        count, skipped = import_records(args.import_file)
        print(f"{args.import_file}: {count} of {count + len(skipped)} tuning records imported")
        for kernel, why in skipped:
            print(f"  skipped {kernel}: {why}")
    if not args.script:
        return
    check_script(args.script)
    for option in OPTIONS.intersection(args.arguments):
        print(f"strata: {option} stands after {args.script}, which gets it; before it, it is of tune", file=sys.stderr)
    session = _strata._TuningSession()
    sys.argv = [args.script, *args.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(args.script))
    try:
        runpy.run_path(args.script, run_name="__main__")
    finally:
        report = session.report()
        sys.stdout.flush()
        print(report)
        if args.export:
            from ..lang._autotune import chosen

            count = export_records(report, args.export, chosen.values())
            print(f"{args.export}: {count} tuning records")
