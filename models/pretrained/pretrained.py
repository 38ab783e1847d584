"""Models as folders that others can load: safetensors, a config and a model card, nothing pickled."""

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
"""The types of weights and buffers, as safetensors calls them."""

OWN: Final = "OwnNetworks"
"""What config.json calls a model with networks that are not ours."""

Model = TypeVar("Model", bound="Pretrained")

Layout: TypeAlias = dict[str, tuple[tuple[int, ...], torch.dtype]]
"""Shape and type of every weight and buffer by its name."""


class Pretrained(nn.Module, ABC):
    """Networks that can be written to a folder and made again from it.

    A subclass says what its networks are made of; `arguments` and `of_arguments` are inverse to
    each other.

    Attributes:
        usage: a line of Python for the model card, which uses a model called `vae`.
    """

    usage: ClassVar[str]

    @property
    @abstractmethod
    def arguments(self) -> dict[str, int | str]:
        """What `of_arguments` makes networks of these shapes from.

        Raises:
            PretrainedError: they are none that it can make.
        """

    @classmethod
    @abstractmethod
    def of_arguments(cls, *args: Any, **kwargs: Any) -> Self:
        """Networks with fresh weights; the signature says which arguments there are."""

    @property
    def own(self) -> bool:
        """Whether a network is not ours, so that `of_arguments` cannot make it."""
        return False

    def save_pretrained(
        self,
        folder: str | Path,
        card: ModelCard | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes model.safetensors, config.json and the model card README.md; older ones are replaced.

        Of networks of one's own the folder has the weights, and in config.json their classes'
        names, for people: whoever loads them gives the networks.

        Args:
            folder: is made where it does not exist.
            card: what the model card says beside the networks; default: nothing.
            training: plain values on how the model was trained, kept in config.json.

        Raises:
            PretrainedError: the networks are not those that the class makes, their weights have
                different types, or the folder cannot be written to or has a README.md that is no
                model card of ours.

        Example:
            >>> import tempfile
            >>> from models import MixtureVAE
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     MixtureVAE(pixels=9, k=3, c=2).save_pretrained(folder)
            ...     MixtureVAE.from_pretrained(folder).n
            3
        """
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
        name, dtype = type(self).__name__, dtypes.pop()
        if not self.own and _expected(type(self), arguments, dtype) != _layout(weights):
            raise PretrainedError(f"these networks are not those that {name}.of_arguments makes")
        kept_as = OWN if self.own else name
        config = PretrainedConfig(kept_as, str(dtype).removeprefix("torch."), arguments, training)
        text = (card or ModelCard()).text(name, arguments, self.usage, own=self.own)
        try:
            _write(Path(folder), text, config.text(), save(weights, {"format": "pt"}))
        except OSError as error:
            raise PretrainedError(f"{folder} cannot be written to: {error}") from error

    @classmethod
    def from_pretrained(cls, folder: str | Path, model: Self | None = None) -> Self:
        """The model of a folder that `save_pretrained` wrote, on the host, in evaluation mode.

        Every name, shape and type is compared with what the configuration says before a weight is
        read.

        Args:
            folder: holds model.safetensors and config.json.
            model: of a folder with networks of one's own these networks, whose weights are
                replaced: nothing in a folder says which code to run.

        Raises:
            PretrainedError: a file is missing, damaged, or does not fit; the model is of another
                class; or it is to be given, or must not be.
        """
        config = pretrained_config(folder)
        if config.model == OWN or model is not None:
            return _into_given(Path(folder), config, cls, model)
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
                f"{Path(folder) / CONFIG} makes no networks: {str(error)[:400]}"
            ) from error
        weights = _weights(_file(Path(folder), WEIGHTS), expected)
        with torch.random.fork_rng(devices=[]):  # whose fresh weights no other draw should feel
            model = cls.of_arguments(**arguments).to(dtype)
        model.load_state_dict(weights)
        return model.eval()


def pretrained_config(folder: str | Path) -> PretrainedConfig:
    """What a folder says of its model.

    Raises:
        PretrainedError: there is no config.json, it is damaged, or it is not one of ours.
    """
    return read_config(_file(_path(folder), CONFIG))


def _into_given(
    folder: Path, config: PretrainedConfig, kind: type[Model], model: Model | None
) -> Model:
    """The weights of a folder in networks that the caller made."""
    said = ", ".join(f"{name} {shortened(value)}" for name, value in config.arguments.items())
    if config.model != OWN:
        raise PretrainedError(
            f"{folder} holds a {config.model}, which needs no model: leave it out"
        )
    if not isinstance(model, kind):
        raise PretrainedError(
            f"{folder} holds weights of networks that are not ours ({said}), and a file never says which code to run: "
            f"give a {kind.__name__} of the same networks, from_pretrained(folder, model=...)"
        )
    model.load_state_dict(_weights(_file(folder, WEIGHTS), _layout(model.state_dict())))
    return model.eval()


def _path(folder: str | Path) -> Path:
    try:
        path = Path(folder)
        path.exists()
    except (TypeError, ValueError, OSError) as error:  # no path, or a name that no folder can have
        raise PretrainedError(f"expected the path of a folder; got {shortened(folder)}") from error
    return path


def _expected(make: type[Pretrained], arguments: Mapping[str, Any], dtype: torch.dtype) -> Layout:
    """What the weights of these networks look like; no memory is taken for them."""
    with torch.device("meta"):
        return _layout(make.of_arguments(**arguments).to(dtype).state_dict())


def _layout(weights: Mapping[str, torch.Tensor]) -> Layout:
    return {name: (tuple(value.shape), value.dtype) for name, value in weights.items()}


def _weights(path: Path, expected: Layout) -> dict[str, torch.Tensor]:
    """The tensors of a file, once its header promises what is expected."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            found = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  # no mapping
            header = {
                name: (tuple(each.get_shape()), each.get_dtype()) for name, each in found.items()
            }
            if misfit := _misfit(header, expected):
                raise PretrainedError(f"{path} does not fit its {CONFIG}: {misfit}")
            return {name: file.get_tensor(name) for name in expected}
    except (SafetensorError, OSError) as error:
        raise PretrainedError(
            f"{path} is damaged or no safetensors file: {error}. Fetch it again"
        ) from error


def _misfit(header: Mapping[str, tuple[tuple[int, ...], str]], expected: Layout) -> str:
    """What keeps the tensors of a header from being those expected; "" if nothing does."""
    missing, foreign = sorted(set(expected) - set(header)), sorted(set(header) - set(expected))
    if missing or foreign:
        return f"it lacks {missing or 'nothing'} and has {foreign or 'nothing'} beside"
    for name, (shape, dtype) in header.items():
        wanted, of = expected[name]
        if shape != wanted:
            return f"{name} has the shape {list(shape)} and should have {list(wanted)}"
        if DTYPES.get(dtype) != of:
            return f"{name} is of type {dtype} and should be {str(of).removeprefix('torch.')}"
    return ""


def _file(folder: Path, name: str) -> Path:
    """The path of a file that has to be there."""
    path = folder / name
    if path.is_file():
        return path
    if not folder.is_dir():
        raise PretrainedError(
            f"there is no folder {folder}. For a model of the Hugging Face Hub, give the folder that "
            f"huggingface_hub.snapshot_download('USER/NAME') returns"
        )
    pickles = sorted(each.name for pattern in PICKLES for each in folder.glob(pattern))
    if name == WEIGHTS and pickles:
        raise PretrainedError(
            f"{folder} has no {WEIGHTS}. It has {', '.join(pickles)}, which can run code when it is loaded, and so "
            f"never is: ask for {WEIGHTS}, which save_pretrained writes"
        )
    raise PretrainedError(f"{folder} is no folder that save_pretrained wrote: it has no {name}")


def _write(folder: Path, card: str, config: str, weights: bytes) -> None:
    """Each file whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    older = folder / CARD
    if older.exists() and f"library_name: {LIBRARY}\n" not in older.read_text(
        encoding="utf-8", errors="replace"
    ):
        raise PretrainedError(
            f"{older} is no model card of ours and would be lost: name another folder"
        )
    contents = {WEIGHTS: weights, CONFIG: config.encode(), CARD: card.encode()}
    for name, content in contents.items():
        part = folder / f".{name}.{os.getpid()}-{secrets.token_hex(8)}.structured-vae-tmp"
        try:
            part.write_bytes(content)
            os.replace(part, folder / name)
        finally:
            part.unlink(missing_ok=True)
