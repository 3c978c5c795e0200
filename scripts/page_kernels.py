"""Kernels for the pages of the site, forked from one process that has imported what pages import.

Each page is executed in a kernel of its own; importing torch and the package anew would be half of the work.

    python scripts/page_kernels.py serve SOCKET        until standard input ends
    python scripts/page_kernels.py start SOCKET FILE   what Jupyter takes for the kernel of a connection file
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

# What ipykernel sets before a page can import matplotlib.
_BACKEND = "module://matplotlib_inline.backend_inline"


def begin(folder: Path) -> subprocess.Popen[bytes]:
    """Make the kernel "python3" of Jupyter one that is forked; return the process that forks.

    It ends when its standard input is closed.
    """
    at = folder / "socket"
    specification = {
        "argv": [sys.executable, __file__, "start", str(at), "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
    }
    kernel = folder / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text(json.dumps(specification), "utf-8")
    os.environ["JUPYTER_PATH"] = str(folder)
    process = subprocess.Popen([sys.executable, __file__, "serve", str(at)], stdin=subprocess.PIPE)
    while not at.exists() and process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    return process


def serve(at: str) -> None:
    """Import, listen, and fork a kernel for every connection."""
    os.environ.setdefault("MPLBACKEND", _BACKEND)
    import ipykernel.kernelapp  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import sklearn.model_selection  # noqa: F401

    import honlearn.pipeline.learn
    import honlearn.reporting.build
    import honlearn.tasks.links
    import honlearn.tasks.nodes  # noqa: F401

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(at + ".new")
        listener.listen()
        os.rename(at + ".new", at)
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _kernel(connection)
            connection.close()
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _kernel(connection: socket.socket) -> None:
    """Be the kernel that was asked for, for as long as whoever asked lives."""
    asked = json.loads(connection.makefile().readline())
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    # The parent is another one here, and a kernel ends with its parent.
    os.environ.pop("JPY_PARENT_PID", None)

    def end_with_it() -> None:
        connection.recv(1)
        os._exit(1)

    threading.Thread(target=end_with_it, daemon=True).start()
    from ipykernel.kernelapp import IPKernelApp

    try:
        IPKernelApp.launch_instance(argv=["-f", asked["file"], *asked["more"]])
    finally:
        os._exit(0)


def start(at: str, file: str, *more: str) -> None:
    """Ask for a kernel, and live for as long as it does."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(at)
        asked = {"file": file, "more": more, "folder": os.getcwd(), "environment": dict(os.environ)}
        connection.sendall(json.dumps(asked).encode() + b"\n")
        connection.recv(1)


if __name__ == "__main__":
    {"serve": serve, "start": start}[sys.argv[1]](*sys.argv[2:])
