"""examples/transfer: features of each record by itself, backbones by name, and a certified head."""

from __future__ import annotations

import gzip
import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "transfer"
PARTS = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    """The modules of the example, by name; they are forgotten afterwards."""
    sys.path.insert(0, str(FOLDER))
    try:
        modules = {name: importlib.import_module(name) for name in PARTS}
        yield types.SimpleNamespace(**modules)
    finally:
        sys.path.remove(str(FOLDER))
        for name in PARTS:
            sys.modules.pop(name, None)


# --- scattering ---


def test_scattering_has_its_channels_and_sizes(example: Any) -> None:
    for height, width, J, L in ((28, 28, 2, 8), (8, 8, 2, 4), (16, 24, 3, 2)):
        found = example.scattering.Scattering(height, width, J, L)(torch.rand(2, height, width))
        channels = 1 + J * L + L * L * J * (J - 1) // 2
        assert found.shape == (2, channels, height // 2**J, width // 2**J)
    with pytest.raises(ValueError, match="multiples of 4"):
        example.scattering.Scattering(28, 30)


def test_scattering_of_a_constant_is_the_constant(example: Any) -> None:
    """Wavelets have mean 0, and the low-pass filter has sum 1."""
    found = example.scattering.Scattering(28, 28)(torch.full((1, 28, 28), 0.7))
    torch.testing.assert_close(found[:, 0], torch.full((1, 7, 7), 0.7))
    assert found[:, 1:].abs().max() < 1e-4


def test_scattering_moves_little_when_an_image_does(example: Any) -> None:
    images = example.strokes.strokes(20)
    transform = example.scattering.Scattering(28, 28)
    moved = torch.roll(images, 1, dims=2)
    change = (transform(moved) - transform(images)).norm() / transform(images).norm()
    assert change < 0.3 < (moved - images).norm() / images.norm()


def test_a_wave_is_seen_by_the_wavelet_of_its_direction(example: Any) -> None:
    along = torch.cos(0.75 * torch.pi * torch.arange(28.0)).expand(28, 28)
    transform = example.scattering.Scattering(28, 28)
    for image, direction in ((along, 4), (along.T, 0)):
        first = transform(image[None].contiguous())[0, 1:9, 3, 3]
        assert int(first.argmax()) == direction
        assert first[direction] > 2.0 * first[(direction + 4) % 8]


def test_filters_against_sums_over_the_image(example: Any) -> None:
    """|x * psi| at one pixel, by the definition, from the wavelet in space."""
    transform = example.scattering.Scattering(28, 28)
    wave = torch.fft.ifft2(transform.waves[1, 3])
    image = torch.zeros(36, 36)
    image[5, 7], image[20, 11] = 1.0, -0.5
    by_sum = wave[(10 - 5) % 36, (9 - 7) % 36] - 0.5 * wave[(10 - 20) % 36, (9 - 11) % 36]
    found = torch.fft.ifft2(torch.fft.fft2(image) * transform.waves[1, 3])[10, 9]
    torch.testing.assert_close(found, by_sum, atol=1e-6, rtol=1e-4)
    assert abs(complex(wave.sum())) < 1e-6


# --- strokes ---


def test_strokes_are_drawn_from_a_seed_and_inside_the_image(example: Any) -> None:
    images = example.strokes.strokes(300)
    assert torch.equal(images, example.strokes.strokes(300))
    assert not torch.equal(images, example.strokes.strokes(300, seed=1))
    assert float(images.min()) >= 0.0
    assert float(images.max()) <= 1.0
    assert (images.flatten(1).amax(dim=1) > 0.9).all(), "each has ink"
    place = torch.arange(28.0) + 0.5
    ink = images.sum(dim=(1, 2))
    middle = (images.sum(dim=1) * place).sum(dim=1) / ink
    assert (middle - 14.0).abs().mean() < 1.5, "centred, by the points of the pen"
    assert abs(float(middle.mean()) - 14.0) < 0.5
    assert example.strokes.strokes(2, 8, 8).shape == (2, 8, 8)


# --- features ---


def test_features_of_a_record_do_not_depend_on_the_others(example: Any) -> None:
    images = example.strokes.strokes(12)
    for name in ("scattering", "random"):
        module = example.backbones.backbone(name).module
        assert not any(p.requires_grad for p in module.parameters())
        together = example.features.extracted(module, [images[:7], images[7:]], 12)
        alone = example.features.extracted(module, [images[5:6]], 1)
        np.testing.assert_allclose(together[5], alone[0], rtol=1e-3, atol=1e-5)


def test_extraction_refuses_training_mode_and_miscounts(example: Any, tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(784))
    images = example.strokes.strokes(4)
    with pytest.raises(ValueError, match="training mode"):
        example.features.extracted(module, [images], 4)
    with pytest.raises(ValueError, match="number of images"):
        example.features.extracted(module.eval(), [images], 5)
    mapped = example.features.extracted(module, [images], 4, tmp_path / "rows.npy")
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), mapped)


def test_whitening_uses_what_is_public_and_gives_rows_of_norm_one(example: Any) -> None:
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(6, 6)).astype(np.float32)
    public = rng.normal(size=(2_000, 6)).astype(np.float32) @ mixing + 1.0
    whitening = example.features.Whitening.learnt(public, directions=6, ridge=1e-8)
    white = (example.features.unit_rows(public) - whitening.mean) @ whitening.maps
    np.testing.assert_allclose(white.T @ white / 2_000, np.eye(6), atol=1e-2)
    private = rng.normal(size=(50, 6)).astype(np.float32)
    rows = whitening.rows(private, chunk=20)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-6)
    changed = private.copy()
    changed[0] = 100.0
    np.testing.assert_array_equal(whitening.rows(changed)[1:], whitening.rows(private)[1:])
    fewer = example.features.Whitening.learnt(public, directions=2)
    assert fewer.rows(private).shape == (50, 2)
    zero = example.features.unit_rows(np.zeros((1, 3), np.float32))
    np.testing.assert_array_equal(zero, np.zeros((1, 3)))


# --- backbones ---


@pytest.mark.parametrize("name", ["torchvision:resnet18", "timm:resnet18", "transformers:a/b"])
def test_a_package_that_is_missing_is_named(
    example: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = name.partition(":")[0]
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"pip install {library}"):
        example.backbones.backbone(name)


@pytest.mark.parametrize("name", ["resnet18", "torchvision:", "keras:resnet"])
def test_unknown_backbones(example: Any, name: str) -> None:
    with pytest.raises(ValueError, match="is unknown"):
        example.backbones.backbone(name)


class _Net(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A network as torchvision has them: a body with dropout, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5))
        self.drop = torch.nn.Dropout(0.5)
        self.fc: Any = torch.nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        return self.fc(self.drop(self.body(x)))


def _torchvision(net: Any) -> dict[str, Any]:
    weights = types.SimpleNamespace(transforms=lambda: lambda image: image)
    models = types.ModuleType("torchvision.models")
    models.__dict__["get_model_weights"] = lambda name: types.SimpleNamespace(DEFAULT=weights)
    models.__dict__["get_model"] = lambda name, weights: net
    return {"torchvision": types.ModuleType("torchvision"), "torchvision.models": models}


def _timm(net: Any) -> dict[str, Any]:
    timm, data = types.ModuleType("timm"), types.ModuleType("timm.data")
    net.fc = torch.nn.Identity()
    timm.__dict__["create_model"] = lambda name, pretrained, num_classes: net
    data.__dict__["resolve_model_data_config"] = lambda model: {"input_size": (3, 2, 2)}
    data.__dict__["create_transform"] = lambda input_size, is_training: lambda image: image
    return {"timm": timm, "timm.data": data}


def _transformers(net: Any) -> dict[str, Any]:
    class Model(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, pixel_values: Any) -> Any:
            found = self.net.drop(self.net.body(pixel_values))
            return types.SimpleNamespace(last_hidden_state=found[:, None].expand(-1, 4, -1))

    def process(images: Any, return_tensors: str) -> Any:
        return {"pixel_values": images[None]}

    library = types.ModuleType("transformers")
    library.__dict__["AutoModel"] = types.SimpleNamespace(from_pretrained=lambda name: Model())
    library.__dict__["AutoImageProcessor"] = types.SimpleNamespace(
        from_pretrained=lambda name: process
    )
    return {"transformers": library}


@pytest.mark.parametrize(
    ("name", "modules"),
    [("torchvision:a", _torchvision), ("timm:a", _timm), ("transformers:a/b", _transformers)],
)
def test_pretrained_backbones_are_frozen_headless_and_in_evaluation_mode(
    example: Any, name: str, modules: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries are not installed here: modules with the calls that they document stand in."""
    net = _Net()
    for key, module in modules(net).items():
        monkeypatch.setitem(sys.modules, key, module)
    found, transform = example.backbones.backbone(name)
    images = torch.stack([transform(image) for image in torch.rand(3, 3, 2, 2)])
    features = example.features.extracted(found, [images], 3)
    np.testing.assert_allclose(features, net.body(images).detach().numpy(), rtol=1e-5)
    assert not any(p.requires_grad for p in found.parameters())


# --- all of it ---


def test_a_private_head_on_digits(example: Any) -> None:
    split = example.images.digits()
    small = split._replace(train=split.train[:600], labels=split.labels[:600])
    rows = example.private_transfer.grey_rows(small, "scattering", public=400, directions=100)
    np.testing.assert_allclose(np.linalg.norm(rows.train, axis=1), 1.0, rtol=1e-5)
    head = example.private_transfer.fitted(
        rows, 8.0, 1e-5, adjacency="zero_out", algorithm="gd", epochs=40, random_state=0
    )
    assert head.certificate_.epsilon(1e-5) <= 8.0
    assert head.score(rows.test, rows.test_labels) > 0.85


def test_idx_files(example: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for part, count in (("train", 3), ("t10k", 2)):
        pixels = rng.integers(0, 256, size=(count, 28, 28), dtype=np.uint8)
        with gzip.open(tmp_path / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(bytes(16) + pixels.tobytes())
        with gzip.open(tmp_path / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(bytes(8) + bytes(range(count)))
    split = example.images.idx(tmp_path)
    assert split.train.shape == (3, 28, 28)
    assert split.test_labels.tolist() == [0, 1]
    np.testing.assert_allclose(split.test.numpy() * 255.0, pixels, atol=1e-4)


def test_folders_of_images(example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image = pytest.importorskip("PIL.Image")
    for part, name in ((p, c) for p in ("train", "test") for c in ("cat", "dog")):
        (tmp_path / part / name).mkdir(parents=True)
        for i in range(3):
            Image.new("L", (2, 2), 60 * i).save(tmp_path / part / name / f"{i}.png")
    for key, module in _torchvision(_Net()).items():
        monkeypatch.setitem(sys.modules, key, module)
    loaded = example.backbones.backbone("torchvision:a")

    def transform(image: Any) -> Any:
        return torch.from_numpy(np.asarray(image, dtype=np.float32) / 255.0).permute(2, 0, 1)

    monkeypatch.setattr(
        example.private_transfer, "backbone", lambda name: loaded._replace(transform=transform)
    )
    rows = example.private_transfer.pretrained_rows(
        tmp_path / "train", tmp_path / "test", "torchvision:a"
    )
    assert rows.train.shape == rows.test.shape == (6, 5)
    assert rows.labels == rows.test_labels == [0, 0, 0, 1, 1, 1]
    assert rows.classes == 2
    (tmp_path / "test" / "cat").rename(tmp_path / "test" / "emu")
    with pytest.raises(ValueError, match="does not have the classes"):
        example.private_transfer.pretrained_rows(
            tmp_path / "train", tmp_path / "test", "torchvision:a"
        )


@pytest.mark.slow
def test_the_program_runs_and_says_what_it_guarantees(
    example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    example.private_transfer.main(["--public", "3000"])
    printed = capsys.readouterr().out
    assert "at delta = 1e-05, zero_out" in printed
    assert float(printed.rpartition("test accuracy ")[2].rstrip("%\n")) > 95.0
    with pytest.raises(SystemExit):
        example.private_transfer.main(["--backbone", "timm:resnet18"])
