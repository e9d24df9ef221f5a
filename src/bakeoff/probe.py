"""One question to a server: does it accept, does it answer? Also a program, to be asked at another place."""

import http.client
import socket
import sys
import urllib.parse


def answers(kind: str, target: str, status: int) -> bool:
    """Whether `host:port` accepts a connection (kind tcp), or a URL answers with the status (kind http)."""
    try:
        if kind == "tcp":
            host, _, port = target.rpartition(":")
            socket.create_connection((host, int(port)), timeout=1).close()
            return True
        url = urllib.parse.urlsplit(target)
        connection = http.client.HTTPConnection(url.hostname or "127.0.0.1", url.port or 80, timeout=1)
        try:
            connection.request("GET", url.path + (f"?{url.query}" if url.query else "") or "/")
            return connection.getresponse().status == status
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return False


if __name__ == "__main__":
    sys.exit(0 if answers(sys.argv[1], sys.argv[2], int(sys.argv[3])) else 1)
