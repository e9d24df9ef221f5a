"""The command line. One module a command; heavy libraries are loaded by the command that needs them."""

from __future__ import annotations

import json
import sys

from bakeoff.errors import BadInput, BakeoffError, CannotRun, Exit


def main() -> int:
    """Runs `bakeoff` and returns its exit code."""
    from bakeoff import interrupts
    from bakeoff.cli.app import app

    interrupts.install()
    try:
        code = int(app(standalone_mode=False) or 0)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BakeoffError as error:
        tell(error)
        return error.exit
    except OSError as error:
        tell(
            CannotRun(f"{error.filename or 'a file'}: {error.strerror or error}", "check the path and its permissions")
        )
        return Exit.CANNOT_RUN
    except Exception as error:
        return usage_error(error)
    if code == Exit.INTERRUPTED:
        print("bakeoff: interrupted; `bakeoff resume` finishes a run that had begun", file=sys.stderr)
    return code


def tell(error: BakeoffError) -> None:
    """Prints an error for a person, and for a program where `--json` was asked for."""
    if "--json" in sys.argv:
        print(json.dumps({"error": as_dict(error)}))
    print(f"bakeoff: {error}", file=sys.stderr)


def as_dict(error: BakeoffError) -> dict[str, object]:
    """An error as plain data."""
    data: dict[str, object] = {"message": str(error), "exit": int(error.exit)}
    if isinstance(error, BadInput | CannotRun):
        data |= {"problem": error.problem, "mend": error.mend}
    if isinstance(error, BadInput):
        data |= {"file": str(error.file) if error.file else None, "line": error.line, "key": error.key}
    return data


def usage_error(error: Exception) -> int:
    """The parser's own errors (an unknown option, a missing word) are bad input; anything else is a fault of ours."""
    show = getattr(error, "show", None)
    if show is None:
        if type(error).__module__.startswith("sqlalchemy"):
            from bakeoff.cli.app import Where
            from bakeoff.store.url import redacted

            said = redacted(str(error), Where.named_store())
            tell(CannotRun(f"the store failed: {said}", "check that it can be written and is not damaged"))
            return Exit.CANNOT_RUN
        raise error
    if "--json" in sys.argv:
        print(json.dumps({"error": {"message": str(error), "exit": int(Exit.BAD_INPUT)}}))
    show(file=sys.stderr)
    return int(getattr(error, "exit_code", Exit.BAD_INPUT))
