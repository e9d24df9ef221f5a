"""`bakeoff serve` and `send`: the store as web pages, and a run to another machine's store."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli.app import AsJson, RunName, Where, app, err, out, print_json
from bakeoff.errors import BadInput

TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help="A file with the token; BAKEOFF_TOKEN if not given.")
]
FOLLOWING_S = 2.0


@app.command()
def serve(
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 for any that is free.")] = 8000,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    store: Annotated[str | None, typer.Option("--store", help="The store's URL, as before the command.")] = None,
    token_file: TokenFile = None,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="A further host name by which browsers may call this server.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the store as web pages. With a token, take runs that other machines send."""
    from bakeoff.web import server, token
    from bakeoff.web.guard import own_names
    from bakeoff.web.site import Site

    word = token.read(token_file)
    Where.store_url = store or Where.store_url
    opened = Where.store(read_only=word is None)
    listening = server.listen(host, port)
    site = Site(opened, token.Token(word) if word else None, own_names(name or []))

    def ready() -> None:
        address = server.address(listening)
        if as_json:
            typer.echo(json.dumps({"address": address, "takes_runs": word is not None}))  # one line: we go on
        else:
            out.print(f"{address}  ({'takes runs with the token' if word else 'read-only'}; Ctrl-C ends it)")

    server.serve(site, listening, ready)
    opened.close()


@app.command()
def send(
    name: RunName,
    url: Annotated[str, typer.Argument(metavar="URL", help="The address that `bakeoff serve` prints.")],
    token_file: TokenFile = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the run has ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send a stored run to a server; only what is missing there goes over."""
    from bakeoff.transfer import send as sender
    from bakeoff.web import token

    word = token.read(token_file)
    if word is None:
        raise BadInput("a token is needed", "name its file with --token-file, or set BAKEOFF_TOKEN")
    store = Where.store()
    run = str(store.run(name)["id"])
    with sender.Door(url, word) as door:
        if door.bare:
            err.print("the token goes over the network unencrypted; https or `ssh -L` would hide it")
        sent = sender.send(store, run, door, err.print)
        while follow and sent.status == "running":
            time.sleep(FOLLOWING_S)
            sent = sender.send(store, run, door, err.print)
    if as_json:
        print_json({"run": run, "status": sent.status, "stored": sent.stored, "kept": sent.kept})
    else:
        out.print(f"run {run} ({sent.status}): {sent.stored} trials sent, {sent.kept} were there")
