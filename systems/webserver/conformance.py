#!/usr/bin/env python3
"""Checks that a web server of the study behaves as it should, whatever it is made of.

    conformance.py HOST:PORT [--connections N]

Prints one line a check; exit code 1 if any fails. A check that says "differs" is about what libraries do in ways of
their own and fails nothing. With --connections it also opens so many connections at once, all
kept alive, and has each answer /hello.
"""

import argparse
import contextlib
import resource
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

from client import HELLO, TIMEOUT, Connection, Failed, Server, expect, expect_hello, expect_status, request

FIBONACCI = {0: 0, 1: 1, 2: 1, 10: 55, 20: 6765}


# The checks. Each takes the server and raises Failed. Its text is printed.


def hello(server: Server) -> None:
    """/hello answers the text"""
    with server.connect() as connection:
        expect_hello(connection.get("/hello"))


def query(server: Server) -> None:
    """a query changes nothing"""
    with server.connect() as connection:
        expect_hello(connection.get("/hello?a=b"))


def sleep(server: Server) -> None:
    """/sleep/20 answers an empty body after 20 ms, /sleep/0 at once"""
    with server.connect() as connection:
        for milliseconds in (20, 0, 20):
            start = time.monotonic()
            response = connection.get(f"/sleep/{milliseconds}")
            taken = 1000 * (time.monotonic() - start)
            expect_status(response, 200, "sleep")
            expect(response.headers["content-length"] == "0", f"a body: {response}")
            expect(taken >= milliseconds, f"after {taken:.1f} ms instead of {milliseconds}")
            expect(taken < milliseconds + 300, f"only after {taken:.0f} ms")


def sleeps_together(server: Server) -> None:
    """100 connections sleep at the same time"""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(server.connect()) for _ in range(100)]
        start = time.monotonic()
        for connection in connections:
            connection.send(request("/sleep/300"))
        for connection in connections:
            expect_status(connection.receive(), 200, "sleep")
        taken = time.monotonic() - start
        expect(taken < 1.5, f"{taken:.1f} s for 100 times 0.3 s")


def fibonacci(server: Server) -> None:
    """/fibonacci answers the number"""
    with server.connect() as connection:
        for i, number in FIBONACCI.items():
            response = connection.get(f"/fibonacci/{i}")
            expect(response.status == 200 and response.body == str(number).encode(), f"fibonacci {i}: {response}")


def unknown_path(server: Server) -> None:
    """an unknown path is 404, and the connection goes on"""
    with server.connect() as connection:
        for path in ("/", "/helloo", "/hello/x", "/sleep", "/sleep/1/2", "/fibonacci/1/2"):
            expect_status(connection.get(path), 404, path)
        expect_hello(connection.get("/hello"))


def bad_number(server: Server) -> None:
    """a number that cannot be parsed or is too large is 400, and the connection goes on"""
    with server.connect() as connection:
        for number in ("x", "-1", "1.5", "1x", "99999999999999999999999"):
            for endpoint in ("sleep", "fibonacci"):
                expect_status(connection.get(f"/{endpoint}/{number}"), 400, f"{endpoint} {number}")
        expect_status(connection.get("/sleep/60001"), 400, "sleep 60001")
        expect_status(connection.get("/fibonacci/51"), 400, "fibonacci 51")
        expect_hello(connection.get("/hello"))


def keep_alive(server: Server) -> None:
    """100 requests on one connection"""
    with server.connect() as connection:
        for _ in range(100):
            response = connection.get("/hello")
            expect_hello(response)
            expect(response.headers.get("connection", "").lower() != "close", "announces the end")


def close(server: Server) -> None:
    """Connection: close is answered with the same and the end"""
    for path in ("/hello", "/sleep/1", "/unknown"):
        with server.connect() as connection:
            response = connection.get(path, "Connection: close")
            closing = response.headers.get("connection", "").lower() == "close"
            expect(closing, f"{path}: no Connection: close: {response}")
            connection.expect_end()


def old_version(server: Server) -> None:
    """after an HTTP/1.0 request the connection ends"""
    with server.connect() as connection:
        expect_hello(connection.get("/hello", version="1.0"))
        connection.expect_end()


def pipelined(server: Server) -> None:
    """pipelined requests are answered in their order"""
    with server.connect() as connection:
        paths = ["/hello", "/fibonacci/10", "/sleep/30", "/unknown", "/hello"]
        connection.send(b"".join(request(path) for path in paths))
        seen = [(response.status, response.body) for response in (connection.receive() for _ in paths)]
        expect([status for status, _ in seen] == [200, 200, 200, 404, 200], f"{seen}")
        expect([seen[i][1] for i in (0, 1, 2, 4)] == [HELLO, b"55", b"", HELLO], f"{seen}")


def many_pipelined(server: Server) -> None:
    """500 pipelined requests, more than fit into one read"""
    with server.connect() as connection:
        data = request("/hello") * 500
        sender = threading.Thread(target=connection.send, args=(data,))
        sender.start()
        for _ in range(500):
            expect_hello(connection.receive())
        sender.join()


def pieces(server: Server) -> None:
    """a request that comes byte by byte"""
    with server.connect() as connection:
        for _ in range(2):
            for byte in request("/hello", "X: y"):
                connection.send(bytes([byte]))
                time.sleep(0.001)
            expect_hello(connection.receive())


def body_passed_over(server: Server) -> None:
    """the body of a request is not taken for the next request"""
    with server.connect() as connection:
        connection.send(request("/hello", "Content-Length: 5") + b"GET /" + request("/fibonacci/10"))
        expect_hello(connection.receive())
        response = connection.receive()
        expect(response.body == b"55", f"{response}")


MALFORMED = {
    "no request line": b"nonsense\r\n\r\n",
    "version with letters": b"GET /hello HTTP/x.y\r\nHost: a\r\n\r\n",
    "space in the method": b"G ET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
    "header without colon": b"GET /hello HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n",
    "space before the colon": b"GET /hello HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n",
    "Content-Length of letters": b"GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: five\r\n\r\n",
    "two lengths": b"GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
}


def malformed(server: Server) -> None:
    """malformed requests are 400, and the connection ends"""
    wrong = []
    for what, data in MALFORMED.items():
        try:
            with server.connect() as connection:
                connection.send(data)
                response = connection.receive()
                expect(response.status == 400, f"{response.status}")
                connection.expect_end()
        except (Failed, OSError) as error:
            wrong.append(f"{what}: {error}")
    expect(not wrong, "; ".join(wrong))


def malformed_later(server: Server) -> None:
    """a malformed request after a good one is 400, and the connection ends"""
    with server.connect() as connection:
        expect_hello(connection.get("/hello"))
        connection.send(b"nonsense\r\n\r\n")
        expect_status(connection.receive(), 400, "nonsense")
        connection.expect_end()


def left_early(server: Server) -> None:
    """clients that leave early do no harm"""
    for data in (b"", b"GET /hel", request("/sleep/50"), request("/hello") * 50):
        for reset in (False, True):
            with server.connect() as connection:
                connection.send(data)
                if reset:
                    reset_when_closed(connection.socket)
    time.sleep(0.1)
    with server.connect() as connection:
        expect_hello(connection.get("/hello"))


def together(server: Server) -> None:
    """200 connections at once, 5 requests each"""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(server.connect()) for _ in range(200)]
        for _ in range(5):
            for connection in connections:
                connection.send(request("/hello"))
            for connection in connections:
                expect_hello(connection.receive())


CHECKS: list[Callable[[Server], None]] = [
    hello, query, sleep, sleeps_together, fibonacci, unknown_path, bad_number, keep_alive, close, old_version,
    pipelined, many_pipelined, pieces, body_passed_over, malformed, malformed_later, left_early, together,
]  # fmt: skip


# What libraries are known to do in ways of their own. It is said, and fails nothing.


def no_version(server: Server) -> None:
    """a request line without a version is 400"""
    with server.connect() as connection:
        connection.send(b"GET /hello\r\nHost: a\r\n\r\n")
        expect_status(connection.receive(), 400, "no version")


def malformed_pipelined(server: Server) -> None:
    """a good request is answered before the malformed one that came with it"""
    with server.connect() as connection:
        connection.send(request("/hello") + b"nonsense\r\n\r\n")
        expect_hello(connection.receive())
        expect_status(connection.receive(), 400, "nonsense")


def other_method(server: Server) -> None:
    """a method other than GET is 405"""
    with server.connect() as connection:
        connection.send(request("/hello").replace(b"GET", b"DELETE"))
        expect_status(connection.receive(), 405, "DELETE")


def missing_host(server: Server) -> None:
    """an HTTP/1.1 request without Host is 400"""
    with server.connect() as connection:
        connection.send(b"GET /hello HTTP/1.1\r\n\r\n")
        expect_status(connection.receive(), 400, "no Host")


NOTES = [no_version, malformed_pipelined, other_method, missing_host]


def reset_when_closed(link: socket.socket) -> None:
    """Closes without leaving the port in use for a minute."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def open_connections(server: Server, number: int) -> str:
    """Opens so many connections, at most 200 of them on their way at a time, and has each answer /hello once."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    data = request("/hello")
    opened: list[socket.socket] = []
    answered: set[socket.socket] = set()
    received: dict[socket.socket, bytes] = {}
    start = time.monotonic()
    deadline = start + 120
    with selectors.DefaultSelector() as selector:
        try:
            while len(answered) < number:
                while len(opened) < number and len(opened) - len(answered) < 200:
                    link = socket.socket()
                    link.setblocking(False)
                    reset_when_closed(link)
                    link.connect_ex(server.address)
                    opened.append(link)
                    selector.register(link, selectors.EVENT_WRITE, link)
                for key, event in selector.select(1):
                    link = key.data
                    if event & selectors.EVENT_WRITE:
                        expect(link.send(data) == len(data), "a request was not taken at once")
                        selector.modify(link, selectors.EVENT_READ, link)
                        continue
                    chunk = link.recv(4096)
                    expect(bool(chunk), f"connection closed when {len(answered)} had been answered")
                    received[link] = received.get(link, b"") + chunk
                    expect(link not in answered, f"more than the answer: {chunk!r}")
                    if received[link].endswith(HELLO):
                        expect(received[link].startswith(b"HTTP/1.1 200"), f"{received[link]!r}")
                        answered.add(link)
                expect(time.monotonic() < deadline, f"only {len(answered)} answers in time")
            taken = time.monotonic() - start
            # Are the first ones still served?
            for link in opened[:100]:
                selector.unregister(link)
                link.setblocking(True)
                link.settimeout(TIMEOUT)
                connection = Connection(link)
                expect_hello(connection.get("/hello"))
            return f"{taken:.1f} s"
        except OSError as error:
            raise Failed(f"{error}, with {len(answered)} of {number} answered") from error
        finally:
            for link in opened:
                link.close()


def run(name: str, check: Callable[[], str | None], failure: str = "FAILED") -> bool:
    start = time.monotonic()
    try:
        note = check() or f"{time.monotonic() - start:.2f} s"
    except (Failed, OSError) as error:
        print(f"{failure:<7} {name}: {error or type(error).__name__}", flush=True)
        return False
    print(f"ok      {name} ({note})", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", metavar="HOST:PORT")
    parser.add_argument("--connections", type=int, default=0, metavar="N", help="also N connections open at once")
    options = parser.parse_args()
    host, _, port = options.address.rpartition(":")
    server = Server((host.strip("[]"), int(port)))

    good = [run(str(check.__doc__), partial(check, server)) for check in CHECKS]
    for check in NOTES:
        run(str(check.__doc__), partial(check, server), failure="differs")
    if options.connections:
        name = f"{options.connections} connections open at once, each answered"
        good.append(run(name, lambda: open_connections(server, options.connections)))
    print(f"{good.count(True)} passed, {good.count(False)} failed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
