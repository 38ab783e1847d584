"""Models as folders that others can load: safetensors, a configuration and a model card."""

from __future__ import annotations

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, ClassVar, Final, Self, TypeAlias, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

from ..errors import PretrainedError
from .card import LIBRARY, ModelCard
from .config import PretrainedConfig, checked_arguments, read_config

WEIGHTS: Final = "model.safetensors"
CONFIG: Final = "config.json"
CARD: Final = "README.md"
PICKLES: Final = ("*.bin", "*.ckpt", "*.pt", "*.pth", "*.pkl")
DTYPES: Final = {
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
    "I64": torch.int64,
    "BOOL": torch.bool,
}
"""The types of weights and buffers, by their names in safetensors."""

OWN: Final = "OwnNetworks"
"""The name in config.json for a model with custom networks."""

Model = TypeVar("Model", bound="Pretrained")

Layout: TypeAlias = dict[str, tuple[tuple[int, ...], torch.dtype]]
"""Shape and type of each weight and buffer, by name."""


class Pretrained(nn.Module, ABC):
    """A model that can be saved to a folder and loaded from it.

    A subclass states the arguments that its networks are made from; `arguments` is the inverse of
    `of_arguments`.

    Attributes:
        usage: a line of Python for the model card, which uses a model called `vae`.
    """

    usage: ClassVar[str]

    @property
    @abstractmethod
    def arguments(self) -> dict[str, int | str]:
        """The arguments of `of_arguments` that make networks of these shapes.

        Raises:
            PretrainedError: `of_arguments` cannot make such networks.
        """

    @classmethod
    @abstractmethod
    def of_arguments(cls, *args: Any, **kwargs: Any) -> Self:
        """Make networks with new random weights; the signature states the arguments."""

    @property
    def own(self) -> bool:
        """True if the model has a custom network, which `of_arguments` cannot make."""
        return False

    def save_pretrained(
        self,
        folder: str | Path,
        card: ModelCard | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> None:
        """Write model.safetensors, config.json and a model card, README.md; replace existing files.

        For custom networks the folder holds the weights, and config.json the names of their
        classes for human readers. To load such a folder, pass the networks to `from_pretrained`.

        Args:
            folder: the folder, which is made if it does not exist.
            card: the contents of the model card; None for a minimal card.
            training: settings of the training as plain values, stored in config.json.

        Raises:
            PretrainedError: the networks differ from those that `of_arguments` makes, their weights
                have different types, the folder cannot be written, or its README.md is not our
                model card.

        Example:
            >>> import tempfile
            >>> from models import MixtureVAE
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     MixtureVAE(pixels=9, k=3, c=2).save_pretrained(folder)
            ...     MixtureVAE.from_pretrained(folder).n
            3
        """
        # safetensors takes neither tensors that share memory nor views with gaps.
        weights = {
            name: value.detach().cpu().clone().contiguous()
            for name, value in self.state_dict().items()
        }
        dtypes = {value.dtype for value in weights.values() if value.is_floating_point()}
        if len(dtypes) != 1:
            raise PretrainedError(
                f"the weights must all be of one floating-point type; they are {dtypes}"
            )
        arguments = self.arguments
        name = type(self).__name__
        dtype = dtypes.pop()
        # The folder holds arguments instead of code, so they must give these very networks again.
        if not self.own and _expected(type(self), arguments, dtype) != _layout(weights):
            raise PretrainedError(
                f"these networks differ from those that {name}.of_arguments makes"
            )
        stored_name = name
        if self.own:
            stored_name = OWN
        dtype_name = str(dtype).removeprefix("torch.")
        config = PretrainedConfig(stored_name, dtype_name, arguments, training)
        text = (card or ModelCard()).text(name, arguments, self.usage, custom=self.own)
        try:
            _write(Path(folder), text, config.text(), save(weights, {"format": "pt"}))
        except PretrainedError:
            raise
        except OSError as error:
            raise PretrainedError(f"cannot write to {folder}: {error}") from error

    @classmethod
    def from_pretrained(cls, folder: str | Path, model: Self | None = None) -> Self:
        """Load a model that `save_pretrained` wrote, onto the CPU and in evaluation mode.

        All names, shapes and types are checked against the configuration before any weight is read.

        Args:
            folder: the folder with model.safetensors and config.json.
            model: for a folder with custom networks, a model of these networks, whose weights are
                replaced; nothing in a folder names code to run. None for other folders.

        Raises:
            PretrainedError: a file is missing, damaged or contradicts the configuration; the model
                has another class; or `model` is missing, or given for a folder that needs none.
        """
        config = pretrained_config(folder)
        if config.model == OWN or model is not None:
            return _load_into(Path(folder), config, cls, model)
        if config.model != cls.__name__:
            raise PretrainedError(
                f"{folder} holds a {config.model}: load it with {config.model}.from_pretrained"
            )
        arguments = checked_arguments(cls.of_arguments, config.arguments, Path(folder) / CONFIG)
        dtype = getattr(torch, config.dtype)
        try:
            expected = _expected(cls, arguments, dtype)
        except (ValueError, TypeError, RuntimeError, OverflowError) as error:
            raise PretrainedError(
                f"no networks can be made from {Path(folder) / CONFIG}: {str(error)[:400]}"
            ) from error
        weights = _weights(_file(Path(folder), WEIGHTS), expected)
        with torch.random.fork_rng(devices=[]):  # the initial weights must not move torch's seed
            model = cls.of_arguments(**arguments).to(dtype)
        model.load_state_dict(weights)
        return model.eval()


def pretrained_config(folder: str | Path) -> PretrainedConfig:
    """Read the configuration of a folder.

    Raises:
        PretrainedError: there is no config.json, it is damaged, or another program wrote it.
    """
    return read_config(_file(_path(folder), CONFIG))


def _load_into(
    folder: Path, config: PretrainedConfig, kind: type[Model], model: Model | None
) -> Model:
    """Load the weights of a folder into networks that the caller made."""
    if config.model != OWN:
        raise PretrainedError(
            f"{folder} holds a {config.model}, which needs no model=...: leave the argument out"
        )
    if not isinstance(model, kind):
        networks = ", ".join(
            f"{name} {shortened(value)}" for name, value in config.arguments.items()
        )
        raise PretrainedError(
            f"{folder} holds weights of custom networks ({networks}), and a file never names code "
            f"to run: pass a {kind.__name__} of the same networks, "
            "from_pretrained(folder, model=...)"
        )
    model.load_state_dict(_weights(_file(folder, WEIGHTS), _layout(model.state_dict())))
    return model.eval()


def _path(folder: str | Path) -> Path:
    try:
        path = Path(folder)
        path.exists()
    except (TypeError, ValueError, OSError) as error:  # not a path, or an impossible name
        raise PretrainedError(f"expected the path of a folder; got {shortened(folder)}") from error
    return path


def _expected(make: type[Pretrained], arguments: Mapping[str, Any], dtype: torch.dtype) -> Layout:
    """Return the layout of the weights of these networks, without allocating them."""
    with torch.device("meta"):
        return _layout(make.of_arguments(**arguments).to(dtype).state_dict())


def _layout(weights: Mapping[str, torch.Tensor]) -> Layout:
    return {name: (tuple(value.shape), value.dtype) for name, value in weights.items()}


def _weights(path: Path, expected: Layout) -> dict[str, torch.Tensor]:
    """Read the tensors of a file, after checking its header."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            # `file` is not a mapping, although it has keys
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            header = {
                name: (tuple(tensor.get_shape()), tensor.get_dtype())
                for name, tensor in slices.items()
            }
            if difference := _difference(header, expected):
                raise PretrainedError(f"{path} contradicts its {CONFIG}: {difference}")
            return {name: file.get_tensor(name) for name in expected}
    except PretrainedError:
        raise
    except (SafetensorError, OSError) as error:
        raise PretrainedError(
            f"{path} is damaged, or is not a safetensors file: {error}. Download it again"
        ) from error


def _difference(header: Mapping[str, tuple[tuple[int, ...], str]], expected: Layout) -> str:
    """Describe the first difference between a header and the expected layout; "" if equal."""
    missing = sorted(set(expected) - set(header))
    unexpected = sorted(set(header) - set(expected))
    if missing or unexpected:
        return f"missing: {missing or 'nothing'}; unexpected: {unexpected or 'nothing'}"
    for name, (shape, dtype) in header.items():
        expected_shape, expected_dtype = expected[name]
        if shape != expected_shape:
            return f"{name} has the shape {list(shape)} and should have {list(expected_shape)}"
        if DTYPES.get(dtype) != expected_dtype:
            dtype_name = str(expected_dtype).removeprefix("torch.")
            return f"{name} is of type {dtype} and should be {dtype_name}"
    return ""


def _file(folder: Path, name: str) -> Path:
    """Return the path of a file of the folder, which must exist."""
    path = folder / name
    if path.is_file():
        return path
    if not folder.is_dir():
        raise PretrainedError(
            f"there is no folder {folder}. For a model on the Hugging Face Hub, pass the folder "
            "that huggingface_hub.snapshot_download('USER/NAME') returns"
        )
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if name == WEIGHTS and pickles:
        raise PretrainedError(
            f"{folder} has no {WEIGHTS}. It has {', '.join(pickles)}, which can run code when "
            f"loaded, so it is never loaded: get {WEIGHTS}, which save_pretrained writes"
        )
    raise PretrainedError(f"{folder} is not a folder that save_pretrained wrote: it has no {name}")


def _write(folder: Path, card: str, config: str, weights: bytes) -> None:
    """Write the three files, each of them completely or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    _check_card(folder / CARD)
    contents = {WEIGHTS: weights, CONFIG: config.encode(), CARD: card.encode()}
    for name, content in contents.items():
        # `os.replace` is atomic only within a file system, hence a hidden file in the same folder.
        unfinished = folder / f".{name}.{os.getpid()}-{secrets.token_hex(8)}.structured-vae-tmp"
        try:
            unfinished.write_bytes(content)
            os.replace(unfinished, folder / name)
        finally:
            unfinished.unlink(missing_ok=True)


def _check_card(path: Path) -> None:
    """Raise if there is a README.md that is not a model card of ours, which would be lost."""
    if not path.exists():
        return
    if f"library_name: {LIBRARY}\n" not in path.read_text(encoding="utf-8", errors="replace"):
        raise PretrainedError(
            f"{path} is not a model card of ours and would be overwritten: choose another folder"
        )
