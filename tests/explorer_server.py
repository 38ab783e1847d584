"""The explorer in a process of its own, for the tests that visit it."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

COMMAND = ("-m", "structured_vae")


@contextmanager
def serving(model, home, program=COMMAND):
    """The port of an explorer that answers.

    Args:
        model: exported folder.
        home: folder for the process's HOME and its log.
        program: arguments of Python that run the command line.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, *program, "explore", str(model), "--port", str(port)]
    quiet = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY")
    }
    own = {"HOME": str(home), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    log = home / "log"
    with (
        log.open("w") as file,
        subprocess.Popen(command, stdout=file, stderr=file, env=quiet | own) as server,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/_stcore/health", server, log)
            yield port
        finally:
            server.kill()


def wait_for(url, server, log):
    """Until the server answers."""
    for _ in range(1200):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  # our own
                assert answer.read() == b"ok"
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the explorer does not answer: {log.read_text()}")
