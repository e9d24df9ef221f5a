"""A store's URL as others may see it: without its password."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from urllib.parse import parse_qsl, unquote, urlsplit

# Greedy up to the last @, because people forget to write an @ in a password as %40.
_USERINFO = re.compile(r"(?P<head>[\w+.-]+://[^\s:/@]*:)(?P<secret>.*)@", re.DOTALL)
_QUERY = re.compile(r"(?P<head>[?&](?:password|passwd|pwd|sslpassword)=)(?P<secret>[^&#\s]*)", re.IGNORECASE)


def shown(url: str) -> str:
    """The URL with *** where a password stands; any other word as it is."""
    return _USERINFO.sub(r"\g<head>***@", _QUERY.sub(r"\g<head>***", url))


def shown_command(command: str) -> str:
    """A command line with each of its URLs as `shown`."""
    try:
        return shlex.join(map(shown, shlex.split(command)))
    except ValueError:  # quotes that do not close
        return shown(command)


def redacted(message: str, url: str) -> str:
    """What a driver says about a URL, in one line; without its words where they hold the password."""
    line = (message.splitlines() or [""])[0]
    return "the driver's message holds the password" if any(secret in line for secret in _secrets(url)) else line


def _secrets(url: str) -> set[str]:
    """The password as it is written, as it is meant, and as a driver sees it that cuts at the first @."""
    found = [match["secret"] for pattern in (_USERINFO, _QUERY) for match in pattern.finditer(url)]
    found += [piece for secret in found for piece in secret.split("@")]
    with suppress(ValueError):
        found += [value for key, value in parse_qsl(urlsplit(url).query) if "password" in key.lower()]
    return {text for secret in found for text in (secret, unquote(secret)) if text}
