"""Frozen backbones by name: pretrained ones of three libraries, and two that need no weights.

    torchvision:resnet50                 pip install torchvision
    timm:vit_small_patch14_dinov2        pip install timm
    transformers:facebook/dinov2-base    pip install transformers
    scattering                           wavelets; nothing is learnt
    random                               a random convolutional network; nothing is learnt

Weights have to come from public data: what a backbone has learnt from private records is in its
features, and no certificate of a head covers it. All are returned in evaluation mode, without
gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import torch
from features import GroupNormed
from scattering import Scattering
from torch import nn

_HEADS = ("fc", "classifier", "heads", "head")  # what torchvision calls the layer to be replaced
_GROUPS = 27  # of the 81 channels of scattering


class Backbone(NamedTuple):
    """A frozen network, and what makes a tensor of one image for it; None: grey tensors do."""

    module: nn.Module
    transform: Callable[[Any], torch.Tensor] | None


def backbone(name: str, height: int = 28, width: int = 28) -> Backbone:
    """The backbone of that name; height and width are for those that need no weights."""
    library, _, model = name.partition(":")
    if library == "scattering":
        return _frozen(GroupNormed(Scattering(height, width), _GROUPS), None)
    if library == "random":
        return _frozen(RandomNetwork(), None)
    if library not in _LOADERS or not model:
        raise ValueError(
            f"backbone={name!r} is unknown; give scattering, random, torchvision:NAME, timm:NAME "
            "or transformers:NAME"
        )
    return _LOADERS[library](model)


def _frozen(module: nn.Module, transform: Callable[[Any], torch.Tensor] | None) -> Backbone:
    return Backbone(module.eval().requires_grad_(False), transform)


def _needed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as missing:
        root = package.partition(".")[0]
        raise ImportError(f"this backbone needs {root}: pip install {root}") from missing


def _torchvision(name: str) -> Backbone:
    models = _needed("torchvision.models")
    weights = models.get_model_weights(name).DEFAULT
    module = models.get_model(name, weights=weights)
    for head in _HEADS:
        if isinstance(getattr(module, head, None), nn.Module):
            setattr(module, head, nn.Identity())
            return _frozen(module, weights.transforms())
    raise ValueError(f"torchvision:{name} has no head that is known; use timm:{name}")


def _timm(name: str) -> Backbone:
    timm = _needed("timm")
    data = _needed("timm.data")
    module = timm.create_model(name, pretrained=True, num_classes=0)
    settings = data.resolve_model_data_config(module)
    return _frozen(module, data.create_transform(**settings, is_training=False))


class _Pooled(nn.Module):
    """One vector an image: what the model pools, else the mean of its last states."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        found: Any = self.model(pixel_values=pixels)
        pooled = getattr(found, "pooler_output", None)
        return found.last_hidden_state.mean(dim=1) if pooled is None else pooled


def _transformers(name: str) -> Backbone:
    library = _needed("transformers")
    process = library.AutoImageProcessor.from_pretrained(name)

    def transform(image: Any) -> torch.Tensor:
        pixels: torch.Tensor = process(images=image, return_tensors="pt")["pixel_values"][0]
        return pixels

    return _frozen(_Pooled(library.AutoModel.from_pretrained(name)), transform)


_LOADERS: dict[str, Callable[[str], Backbone]] = {
    "torchvision": _torchvision,
    "timm": _timm,
    "transformers": _transformers,
}


class RandomNetwork(nn.Module):
    """Two layers of random filters, each of mean 0 and norm 1, rectified and averaged.

    The filters come from a generator of a public seed. Channels of the second layer are normalised
    record by record.
    """

    def __init__(self, first: int = 32, second: int = 128, size: int = 5, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def filters(outputs: int, inputs: int) -> nn.Parameter:
            drawn = torch.randn(outputs, inputs, size, size, generator=generator)
            drawn = drawn - drawn.mean(dim=(1, 2, 3), keepdim=True)
            norms = drawn.flatten(1).norm(dim=1)
            return nn.Parameter(drawn / norms[:, None, None, None])

        self.first, self.second = filters(first, 1), filters(second, first)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = nn.functional.conv2d(images[:, None], self.first, padding="same").relu()
        x = nn.functional.conv2d(nn.functional.avg_pool2d(x, 2), self.second, padding="same").relu()
        x = nn.functional.adaptive_avg_pool2d(x, min(7, x.shape[-1]))
        return nn.functional.group_norm(x, 8)
