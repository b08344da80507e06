"""Task vectors of checkpoints: full ones by blocks, low-rank ones without their product."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import ebbing
from ebbing.forecasting import read_task_vectors
from ebbing.forecasting._weight_files import read_header

SHAPES = {"layer.weight": (7, 5), "layer.bias": (7,), "scale": (), "empty": (0, 3)}


def weights(seed):
    generator = torch.Generator().manual_seed(seed)
    return {key: torch.randn(shape, generator=generator) for key, shape in SHAPES.items()}


@pytest.fixture
def files(tmp_path):
    paths = {}
    for seed, name in enumerate(("base", "cats", "dogs", "cars")):
        paths[name] = tmp_path / f"{name}.safetensors"
        save_file(weights(seed) | {"steps": torch.tensor([seed])}, paths[name])
    return paths


def flat(seed):
    return torch.cat([value.flatten() for value in weights(seed).values()]).double().numpy()


def test_full_checkpoints(files, monkeypatch):
    base = files.pop("base")
    updates = np.array([flat(k) - flat(0) for k in (1, 2, 3)])
    for summed, threads in ((2**12, 1), (4, 1), (4, 3)):  # in one block and in many, the last of them shorter
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        monkeypatch.setattr("ebbing.forecasting._weight_files._SUMMED", summed)
        monkeypatch.setattr("ebbing.forecasting._weight_files._BUFFER", 6 * summed)
        found = read_task_vectors(files, base)
        assert np.allclose(found.gram, updates @ updates.T, rtol=1e-5)
        assert found.parameters == 43  # whole numbers do not count
    assert found.names == ("cats", "dogs", "cars")
    assert np.all(np.diagonal(found.similarity) == 1)


def test_long_sums_in_single_precision_stay_exact(tmp_path):
    start = torch.randn(2000, 1000, generator=torch.Generator().manual_seed(0))
    save_file({"w": start}, tmp_path / "base")
    for name, shift in (("a", 0.3), ("b", -1.7)):
        save_file({"w": start + shift}, tmp_path / name)
    found = read_task_vectors({name: tmp_path / name for name in "ab"}, tmp_path / "base")
    assert np.allclose(found.gram / 2e6, np.outer([0.3, -1.7], [0.3, -1.7]), rtol=1e-5)


def adapters(tmp_path, rank=2, alpha=None, seed=0):
    paths, products = {}, []
    for k, name in enumerate(("cats", "dogs")):
        generator = torch.Generator().manual_seed(seed + k)
        folder = tmp_path / name
        folder.mkdir()
        tensors, product = {}, []
        for module, (o, i) in {"q": (6, 4), "v": (3, 5)}.items():
            A, B = torch.randn(rank + k, i, generator=generator), torch.randn(o, rank + k, generator=generator)
            tensors |= {f"base.{module}.lora_A.weight": A, f"base.{module}.lora_B.weight": B}
            scale = 1.0 if alpha is None else alpha / (rank + k)
            product.append(scale * (B @ A).flatten())
        save_file(tensors, folder / "adapter_model.safetensors")
        if alpha is not None:
            (folder / "adapter_config.json").write_text(json.dumps({"r": rank + k, "lora_alpha": alpha}))
        paths[name] = folder / "adapter_model.safetensors"
        products.append(torch.cat(product).double().numpy())
    return paths, np.array(products)


@pytest.mark.parametrize("alpha", [None, 8])
def test_low_rank_adapters_equal_their_products(tmp_path, alpha):
    paths, products = adapters(tmp_path, alpha=alpha)
    found = read_task_vectors(paths)
    assert np.allclose(found.gram, products @ products.T, rtol=1e-5)
    assert found.parameters == 6 * 4 + 3 * 5


def test_problem_and_words(files):
    found = read_task_vectors({name: files[name] for name in ("cats", "dogs", "cars")}, files["base"])
    problem = found.problem()
    assert np.allclose(problem.gram, found.gram)
    assert problem.names == ("cats", "dogs", "cars")
    assert np.isfinite(ebbing.expect(problem).forgetting)
    assert "much weaker than a forecast from data" in " ".join(found.summary().split())
    assert len(found.to_frame()) == 9
    assert found.plot().get_images()
    with pytest.raises(ValueError, match="ratio=1"):
        found.problem(1)


def test_equal_checkpoints_have_no_distance(files):
    found = read_task_vectors({"a": files["cats"], "b": files["cats"]}, files["base"])
    assert found.similarity[0, 1] == 1


def test_bad_files(files, tmp_path):
    base = files.pop("base")
    with pytest.raises(ValueError, match="give a dictionary"):
        read_task_vectors({})
    with pytest.raises(ValueError, match=r"task 'a': .*missing.*cannot be read"):
        read_task_vectors({"a": tmp_path / "missing"}, base)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match=r"base: .*cannot be read as safetensors"):
        read_task_vectors(files, tmp_path / "text")
    with pytest.raises(ValueError, match="no low-rank adapter in its file"):
        read_task_vectors(files)
    save_file({"layer.weight": torch.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="task 'a': its file and the base differ in 4 tensors"):
        read_task_vectors({"a": tmp_path / "other.safetensors"}, base)
    save_file(weights(1) | {"steps": torch.zeros(1), "scale": torch.zeros(2)}, tmp_path / "shape.safetensors")
    with pytest.raises(ValueError, match=r"'scale' has shape \(2,\), in the base \(\)"):
        read_task_vectors({"a": tmp_path / "shape.safetensors"}, base)


def test_bad_adapters(tmp_path):
    paths, _ = adapters(tmp_path, alpha=4)
    (tmp_path / "cats" / "adapter_config.json").write_text("{}")
    with pytest.raises(ValueError, match="not a configuration of a low-rank adapter"):
        read_task_vectors(paths)
    (tmp_path / "cats" / "adapter_config.json").unlink()
    save_file({"q.lora_A.weight": torch.zeros(2, 4)}, paths["cats"])
    with pytest.raises(ValueError, match=r"but no .lora_B.weight"):
        read_task_vectors({"cats": paths["cats"]})
    with pytest.raises(ValueError, match=r"adapt different layers|has .lora_A"):
        read_task_vectors(paths)


@pytest.mark.parametrize(("dtype", "digits"), [(torch.bfloat16, 6), (torch.float16, 6), (torch.float64, 12)])
def test_differences_are_those_of_the_stored_numbers(tmp_path, dtype, digits):
    random = torch.Generator().manual_seed(0)
    stored = {name: torch.randn(50, 30, generator=random, dtype=torch.float64).to(dtype) for name in ("base", "a", "b")}
    for name, values in stored.items():
        save_file({"w": values}, tmp_path / name)
    updates = np.array([(stored[name].double() - stored["base"].double()).numpy().ravel() for name in ("a", "b")])
    found = read_task_vectors({name: tmp_path / name for name in ("a", "b")}, base=tmp_path / "base")
    np.testing.assert_allclose(found.gram, updates @ updates.T, rtol=10.0**-digits)


def test_base_and_checkpoints_may_have_different_precision(tmp_path):
    random = torch.Generator().manual_seed(0)
    base, end = torch.randn(40, generator=random).to(torch.bfloat16), torch.randn(40, generator=random)
    save_file({"w": base}, tmp_path / "base")
    save_file({"w": end}, tmp_path / "end")
    found = read_task_vectors({"a": tmp_path / "end"}, base=tmp_path / "base")
    assert found.gram[0, 0] == pytest.approx(float((end.double() - base.double()).square().sum()), rel=1e-6)


def test_file_that_shrinks_while_it_is_read_raises(tmp_path, monkeypatch):
    for name in ("base", "a"):
        save_file({"w": torch.ones(100)}, tmp_path / name)

    def shrinking(path):
        header = read_header(path)
        path.write_bytes(path.read_bytes()[:-4])
        return header

    monkeypatch.setattr("ebbing.forecasting.checkpoints.read_header", shrinking)
    with pytest.raises(OSError, match="it has become shorter"):
        read_task_vectors({"a": tmp_path / "a"}, base=tmp_path / "base")


def test_checkpoints_of_whole_numbers_and_equal_ones_are_named(tmp_path):
    for name, dtype in (("base", torch.float32), ("same", torch.float32), ("whole", torch.int64)):
        save_file({"w": torch.ones(5, dtype=dtype)}, tmp_path / name)
    found = read_task_vectors({"cats": tmp_path / "same"}, base=tmp_path / "base")
    assert "Equal to the base, as if nothing had been learned: cats." in found.summary()
    with pytest.raises(ValueError, match="task 'dogs': 'w' has whole numbers in one file and floating-point numbers"):
        read_task_vectors({"dogs": tmp_path / "whole"}, base=tmp_path / "base")
