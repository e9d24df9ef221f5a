"""One question to a server: does it accept, what does it answer? Also a program, to be asked at another place."""

import http.client
import json
import socket
import sys
import urllib.parse
from typing import Any


def answers(kind: str, target: str, status: int) -> bool:
    """Whether `host:port` accepts a connection (kind tcp), or a URL answers with the status (kind http)."""
    if kind == "http":
        return bool(ask({"url": target, "method": "GET"}, timeout=1.0).get("status") == status)
    try:
        host, _, port = target.rpartition(":")
        socket.create_connection((host, int(port)), timeout=1).close()
        return True
    except OSError:
        return False


def ask(question: dict[str, Any], timeout: float = 30.0) -> dict[str, Any]:
    """The answer to one request: `status` and `body`, or `error`."""
    url = urllib.parse.urlsplit(question["url"])
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    connection = http.client.HTTPConnection(url.hostname or "127.0.0.1", url.port or 80, timeout=timeout)
    try:
        body = question.get("body")
        connection.request(question["method"], target, body and body.encode(), question.get("headers") or {})
        answer = connection.getresponse()
        return {"status": answer.status, "body": answer.read(1 << 20).decode(errors="replace")}
    except (OSError, http.client.HTTPException) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        connection.close()


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        print(json.dumps(ask(json.loads(sys.argv[2]))))
    else:
        sys.exit(0 if answers(sys.argv[1], sys.argv[2], int(sys.argv[3])) else 1)
