"""Serve the page to the browsers of this machine."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path

from models import DiscreteVAE

from ..errors import MissingPackageError, RunError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PAGE = Path(__file__).with_name("page.py")


def explore(
    folder: str | Path,
    address: str = "127.0.0.1",
    port: int = 8501,
    *,
    model: DiscreteVAE | None = None,
) -> None:
    """Serve a page that explores the model of a run or of an exported folder, until Ctrl-C.

    Args:
        folder: the folder of the run, or one that `export_run` wrote.
        address: the address to listen at; only this machine can reach the default address.
        port: the port to listen at.
        model: the custom networks whose weights the folder holds; for an exported folder they need
            a size, `DiscreteVAE(..., pixels=...)`.

    Raises:
        MissingPackageError: Streamlit is not installed, or too old.
        RunError: the folder is neither a run nor an exported model, or it is damaged; or the port
            is taken.
        models.errors.PretrainedError: an exported folder is damaged.
    """
    if find_spec("streamlit") is None:
        raise MissingPackageError(
            "the explorer needs Streamlit, which is not installed: "
            "pip install 'structured-vae[explorer]'"
        )
    from .loaded import prepare  # needs Streamlit

    resolved = str(Path(folder).resolve())
    prepare(resolved, model)  # its errors belong here rather than on the page
    _check_free(address, port)
    from click import ClickException
    from streamlit.web.cli import main

    _ask_nobody()
    command = ["run", str(PAGE), *_options(address, port), "--", resolved]
    try:
        main(command, standalone_mode=False)
    except ClickException as error:
        raise MissingPackageError(
            f"this Streamlit cannot serve the page ({error.message}): "
            "pip install --upgrade 'structured-vae[explorer]'"
        ) from error


def _check_free(address: str, port: int) -> None:
    """Raise unless the port is free to listen at."""
    try:
        if ip_address(address).version == 6:
            family = socket.AF_INET6
        else:
            family = socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except (OSError, OverflowError, ValueError) as error:
        raise RunError(
            f"{address}:{port} cannot be listened at ({error}): choose another with --port"
        ) from error


def _ask_nobody() -> None:
    """Keep Streamlit from asking a public site for the address of this machine.

    It would ask, and no setting keeps it from that, to let in the pages of other servers at this
    address. Such a request is refused like any other from an unknown address.
    """
    from streamlit import net_util

    for name in ("get_internal_ip", "get_external_ip"):
        setattr(net_util, name, lambda: None)


def _options(address: str, port: int) -> list[str]:
    """Return options with which Streamlit sends nothing, watches no files, and serves only here."""
    settings = {
        "server.address": address,
        "server.port": str(port),
        "server.showEmailPrompt": "false",
        "server.fileWatcherType": "none",
        "server.maxUploadSize": "10",  # megabytes
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": "false",
        # a full collection, with torch loaded, would follow every switch
        "runner.postScriptGC": "false",
    }
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    if ip_address(address).is_loopback:
        words += [word for host in LOOPBACK for word in ("--server.allowedHosts", host)]
    return words
