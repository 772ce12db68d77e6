"""Data: IDX files in any usual form, digits, and errors that say what to do; and the setting."""

from __future__ import annotations

import gzip
import struct
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shiftdp import InvalidInput
from shiftdp.ui.reproduce.images import PAPER, NoImages, digits, mnist_from_openml, mnist_in


def put(path: Path, array: NDArray[np.uint8]) -> None:
    data = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    data += array.tobytes()
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)


def fill(folder: Path, ending: str = "-idx{}-ubyte") -> dict[str, NDArray[np.uint8]]:
    rng = np.random.default_rng(0)
    arrays = {}
    for part, n in (("train", 60_000), ("t10k", 10_000)):
        images = np.zeros((n, 28, 28), np.uint8)
        images[:, 10, 10:15] = rng.integers(0, 256, (n, 5))
        images[0] = 255
        arrays[part] = images
        put(folder / (f"{part}-images" + ending.format(3)), images)
        put(folder / (f"{part}-labels" + ending.format(1)), (np.arange(n) % 10).astype(np.uint8))
    return arrays


@pytest.mark.parametrize("ending", ["-idx{}-ubyte", "-idx{}-ubyte.gz", ".idx{}-ubyte"])
def test_files_gzipped_or_not(tmp_path: Path, ending: str) -> None:
    arrays = fill(tmp_path, ending)
    images = mnist_in(tmp_path)
    assert images.published
    assert images.classes == 10
    assert images.test.features.shape == (10_000, 784)
    assert images.train.labels[:12].tolist() == [*range(10), 0, 1]
    expected = arrays["train"][1:50].reshape(49, 784) / 255.0
    assert images.train.features[1:50] == pytest.approx(expected, abs=1e-6)
    # 28 is the norm of an all-white image: held to 8
    longest = float(np.linalg.norm(images.train.features[0].astype(np.float64)))
    assert 8.0 * (1 - 2e-6) < longest <= 8.0


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="train-images-idx3-ubyte"):
        mnist_in(tmp_path)
    with pytest.raises(InvalidInput, match="is no folder"):
        mnist_in(tmp_path / "nowhere")


def test_spoiled_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "train-images-idx3-ubyte"
    for data, problem in (
        (b"", "not an IDX file"),
        (b"\0\0\x0d\3" + bytes(12), "not an IDX file"),
        (b"\0\0\x08\3" + struct.pack(">3I", 2, 28, 28) + bytes(100), "size"),
    ):
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match=problem):
            mnist_in(tmp_path)
    path.unlink()
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"not gzip")
    with pytest.raises(InvalidInput, match="cannot be read"):
        mnist_in(tmp_path)


def test_other_data_in_idx_files_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "train-images-idx3-ubyte", np.zeros((5, 28, 28), np.uint8))
    put(tmp_path / "train-labels-idx1-ubyte", np.zeros(5, np.uint8))
    with pytest.raises(InvalidInput, match="not MNIST"):
        mnist_in(tmp_path)


def test_digits_have_the_privacy_of_the_paper_an_epoch() -> None:
    images = digits()
    setting = images.setting
    assert not images.published
    assert setting.batches == 40
    assert setting.n == len(images.train.labels) == 1440
    assert setting.effective == pytest.approx(2 / 3, rel=1e-12)
    assert set(images.test.labels.tolist()) == set(range(10))


def test_without_network_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nothing listens
    monkeypatch.setattr(urllib.request, "_opener", None)  # which remembers proxies, for all tests
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(NoImages, match="--data DIR") as refused:
        mnist_from_openml()
    assert "--quick" in str(refused.value)


def test_the_setting_is_that_of_the_paper() -> None:
    """60,000 images in batches of 1,500; L = 10, sigma = 0.01; pixels clipped to norm 8."""
    assert (PAPER.n, PAPER.batch_size, PAPER.batches) == (60_000, 1_500, 40)
    assert PAPER.effective == pytest.approx(2 / 3, rel=1e-12)
    geometry = PAPER.geometry(0.002)
    assert geometry.strong_convexity == 0.002
    assert geometry.smoothness == pytest.approx((64 + 1) / 2 + 0.002, rel=1e-12)
    assert geometry.sensitivity == 10.0


def test_both_algorithms_see_as_many_records() -> None:
    for epochs in PAPER.epochs:
        cyclic, sampled = PAPER.cyclic(epochs), PAPER.sampled(epochs)
        assert cyclic.epochs == epochs
        assert sampled.steps == cyclic.steps == 40 * epochs
        assert (cyclic.noise, sampled.noise) == (0.01, 0.01)
    assert PAPER.cyclic(1, "reshuffled").order == "reshuffled"


def test_batches_twice_as_large_are_half_as_many_and_half_as_telling() -> None:
    larger = replace(PAPER, batch_size=3_000)
    assert 2 * larger.batches == PAPER.batches
    assert larger.effective == pytest.approx(PAPER.effective / 2, rel=1e-12)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    """Found by fuzzing: zlib's own error came through."""
    data = bytearray(gzip.compress(bytes(range(256)) * 8, mtime=0))
    data[40:60] = b"\xff" * 20
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(data)
    with pytest.raises(InvalidInput, match="cannot be read"):
        mnist_in(tmp_path)


def test_a_file_of_no_images_of_any_size_is_refused(tmp_path: Path) -> None:
    sizes = bytes.fromhex("00000000 fffffefd dc840711")
    (tmp_path / "train-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3]) + sizes)
    with pytest.raises(InvalidInput, match="does not have the size that it says"):
        mnist_in(tmp_path)
