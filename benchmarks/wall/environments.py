"""An environment for each peer, in `.peers/<name>`, and the process that answers in it.

They are made when they are first needed and made anew when the line here changes. SHIFTDP_PEERS
names another folder. Every peer is pinned: a figure of the wall is about one version of it.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("SHIFTDP_PEERS", HERE.parents[1] / ".peers"))

PACKAGES: dict[str, tuple[str, ...]] = {
    "autodp": ("autodp==0.2.3.1",),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.7.2"),  # it does not run with 1.8
    "dp_accounting": ("dp-accounting==0.6.0",),
    "opacus": ("opacus==1.6.0", "torch==2.13.0"),
    "PLD_accounting": ("PLD-accounting[performance]==2.0",),
    "prv_accountant": ("prv-accountant==0.2.0",),
    "riskcal": ("riskcal==1.5.1",),
}
"""What is installed for a peer; the first is the peer itself."""

ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""A thread of BLAS that waits counts as busy: one for all sides."""


class PeerFailed(Exception):
    """A peer that cannot be installed, does not start, or answers with an error."""


def python_of(name: str) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there as it should be."""
    home = FOLDER / name
    python, stamp = home / "bin" / "python", home / ".installed"
    wanted = " ".join(PACKAGES[name])
    if not (stamp.is_file() and stamp.read_text() == wanted):
        print(f"preparing an environment for {name}", file=sys.stderr, flush=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "--quiet"]
            subprocess.run([*pip, "install", *PACKAGES[name]], check=True, stderr=subprocess.PIPE)
        except subprocess.CalledProcessError as error:
            raise PeerFailed(f"{wanted} could not be installed") from error
        stamp.write_text(wanted)
    return python


class Server:
    """A peer's process, which reads requests and writes replies."""

    def __init__(self, python: Path, program: Path) -> None:
        self._process = subprocess.Popen(
            [str(python), "-I", str(HERE / "serve.py"), str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )
        atexit.register(self.close)

    def ask(self, task: str, given: Mapping[str, Any], warm: bool = True) -> tuple[float, Any]:
        """Processor seconds of a task, and its answer."""
        pipe, replies = self._process.stdin, self._process.stdout
        if pipe is None or replies is None:
            raise PeerFailed("it has no pipes")
        request = {"task": task, "given": given, "warm": warm}
        try:
            pipe.write(json.dumps(request) + "\n")
            pipe.flush()
            line = replies.readline()
        except OSError as error:
            raise PeerFailed("its process has ended") from error
        if not line:
            raise PeerFailed("its process has ended")
        reply = json.loads(line)
        if "error" in reply:
            raise PeerFailed(reply["error"])
        return reply["seconds"], reply["answer"]

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()


def title(name: str) -> str:
    """A peer with its version, whether it can be installed or not."""
    return f"{name} {PACKAGES[name][0].rpartition('==')[2]}"


_STARTED: list[Server] = []


@cache
def server(name: str) -> Server:
    """The process of a peer, started once and kept until `end_servers`."""
    _STARTED.append(Server(python_of(name), HERE / "peers" / f"{name}.py"))
    return _STARTED[-1]


def end_servers() -> None:
    """End the processes of all peers: a thread of theirs that waits by turning takes half a core
    from whoever is measured next."""
    while _STARTED:
        _STARTED.pop().close()
    server.cache_clear()
