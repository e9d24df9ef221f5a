"""Real servers over stores with known runs."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import made_runs

from bakeoff import plan
from bakeoff.store import Store
from bakeoff.store.store import Outcome
from labs import BAKEOFF

TOKEN = "a-token-that-only-the-tests-know"
SCRIPT = "<script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\">"


@dataclass(frozen=True)
class Answer:
    """What a server has answered."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)


@dataclass(frozen=True)
class Served:
    """A running server and its store."""

    url: str  # of the store
    address: str
    process: subprocess.Popen[str]

    def get(self, path: str, **headers: str) -> Answer:
        """A page."""
        return self.ask("GET", path, None, **headers)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Any request; the path goes out exactly as it is."""
        line = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=200)
        line.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in (headers | ({} if body is None else {"Content-Length": str(len(body))})).items():
            line.putheader(name, value)
        line.endheaders(body)
        answer = line.getresponse()
        found = Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
        line.close()
        return found

    def sent(self, *words: str, token: str = TOKEN, url: str) -> subprocess.CompletedProcess[str]:
        """`bakeoff send` from another store to this server."""
        env = os.environ | {"BAKEOFF_TOKEN": token, "BAKEOFF_STORE": url}
        command = [str(BAKEOFF), "send", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)


@contextmanager
def serving(url: str, *words: str, token: str | None = None) -> Iterator[Served]:
    """Serves a store; at the end SIGTERM must end the server within seconds, with exit code 0 and no complaint."""
    env = {key: value for key, value in os.environ.items() if key != "BAKEOFF_TOKEN"} | {"BAKEOFF_STORE": url}
    env |= {} if token is None else {"BAKEOFF_TOKEN": token}
    command = [str(BAKEOFF), "serve", "--port", "0", "--json", *words]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, said.seek(0) or said.read()
            yield Served(url, json.loads(line)["address"], process)
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=20)
            process.stdout.close()
        said.seek(0)
        assert (code, said.read()) == (0, "")


def hostile_run(store: Store) -> str:
    """A run in which every stored text that a system or a log can choose holds a script."""
    experiment = made_runs.message_passing().model_copy(update={"title": f"T {SCRIPT}", "question": f"Q {SCRIPT}"})

    def observe(trial: plan.Trial) -> Outcome:
        outcome = Outcome("failed" if trial.replication == 1 else "ok", f"it said {SCRIPT}")
        outcome.observe("elapsed", "s", 1.0 + trial.replication)
        outcome.artefacts.append(("main.stderr", "text/html", SCRIPT.encode()))
        outcome.flags.append(("stolen_cpu", f"detail {SCRIPT}", {}))
        return outcome

    missing = {"uds-services": f"why {SCRIPT}"}
    return made_runs.make(store, experiment, observe, run="hostile-1", title=SCRIPT + " {}", unavailable=missing)
