"""Starts uvicorn with a worker process for each CPU.

uvicorn's own command would do the same; this adds the markers. The packages are expected in the folder `site` beside
this file.
"""

import sys

if __name__ == "__main__":
    print("@bakeoff startup", flush=True)

import argparse
import os
import resource
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "site")]

from uvicorn.config import Config  # noqa: E402  (the path comes first)
from uvicorn.supervisors import Multiprocess  # noqa: E402

BACKLOG = 4096
IDLE_SECONDS = 75
"""After this time an idle connection is closed; uvicorn's 5 are too few to keep 10,000 of them."""


class Workers(Multiprocess):
    """uvicorn's supervisor of worker processes, which says when they are ready."""

    def init_processes(self) -> None:
        super().init_processes()
        if all(process.wait_until_ready(60, self.should_exit) for process in self.processes):
            print("@bakeoff ready", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    config = Config(
        "app:app",
        host=options.host,
        port=options.port,
        workers=len(os.sched_getaffinity(0)),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        backlog=BACKLOG,
        log_level="error",
        access_log=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=1,
    )
    Workers(config, sockets=[config.bind_socket()]).run()


if __name__ == "__main__":
    main()
