"""A peer's process: one JSON request a line, one JSON reply a line.

    python serve.py peers/<name>.py

A request has the name of a function of that file, its arguments, and whether to call it once before
it is timed; the reply has the processor seconds and what it returned, or the error. Runs in the
environment of the peer, which holds nothing of ours. What libraries print goes to standard error.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

from clock import Timer  # type: ignore[import-not-found]


def main(program: str) -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    timers: dict[str, Any] = {}
    tasks: dict[str, Any] | None = None
    for line in sys.stdin:
        try:
            tasks = tasks or runpy.run_path(program)
            request = json.loads(line)
            if line not in timers:
                call = partial(tasks[request["task"]], **request["given"])
                timers[line] = Timer(call, request["warm"])
            seconds, answer = timers[line].read()
            reply = json.dumps({"seconds": seconds, "answer": answer})
        except Exception as error:  # whatever a peer does, the wall says so in its row
            reply = json.dumps({"error": f"{type(error).__name__}: {error}"})
        replies.write(reply + "\n")
        replies.flush()


if __name__ == "__main__":
    main(sys.argv[1])
