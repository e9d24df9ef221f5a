"""A plain HTTP/1.1 client for checks of a server: it shows what came, byte by byte."""

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

HELLO = b"Hello, world!"
TIMEOUT = 10.0


class Failed(Exception):
    """A check found something wrong."""


@dataclass
class Response:
    """A response as it came."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Connection:
    """A connection to the server."""

    socket: socket.socket
    rest: bytes = field(default=b"")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def get(self, path: str, *headers: str, version: str = "1.1") -> Response:
        self.send(request(path, *headers, version=version))
        return self.receive()

    def receive(self) -> Response:
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        status_line, *lines = head.decode("latin-1").split("\r\n")
        version, status, *_ = status_line.split(" ")
        expect(version.startswith("HTTP/1."), f"a response begins with {status_line!r}")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if "content-length" not in headers:
            # Without a length the body goes to the end of the connection.
            expect(headers.get("connection", "").lower() == "close", f"neither Content-Length nor close: {headers}")
            body, self.rest = self.rest + self.until_end(), b""
            return Response(int(status), headers, body)
        length = int(headers["content-length"])
        while len(self.rest) < length:
            self.more()
        body, self.rest = self.rest[:length], self.rest[length:]
        return Response(int(status), headers, body)

    def more(self) -> None:
        data = self.socket.recv(65536)
        expect(bool(data), f"closed early, after {self.rest!r}")
        self.rest += data

    def until_end(self) -> bytes:
        chunks = []
        while chunk := self.socket.recv(65536):
            chunks.append(chunk)
        return b"".join(chunks)

    def expect_end(self) -> None:
        try:
            data = self.rest or self.socket.recv(1)
        except TimeoutError:
            raise Failed("the connection was not closed") from None
        except ConnectionResetError:
            return
        expect(not data, f"more after the last response: {data!r}")


@dataclass
class Server:
    """The server under check."""

    address: tuple[str, int]

    @contextlib.contextmanager
    def connect(self) -> Iterator[Connection]:
        with socket.create_connection(self.address, timeout=TIMEOUT) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield Connection(link)


def request(path: str, *headers: str, version: str = "1.1") -> bytes:
    return "\r\n".join([f"GET {path} HTTP/{version}", "Host: bakeoff", *headers, "", ""]).encode("latin-1")


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise Failed(message)


def expect_hello(response: Response) -> None:
    expect(response.status == 200 and response.body == HELLO, f"not the hello: {response}")


def expect_status(response: Response, status: int, what: str) -> None:
    expect(response.status == status, f"{what}: {response.status} instead of {status}")
