"""Products by oneDNN against those of PyTorch, and when they are used."""

import platform

import pytest
import torch
from dense_layers import OUT, M, layer, orthogonal, random

from ebbing.learn.projection import _products
from ebbing.learn.projection._parametrization import RotatedWeight

needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"),
    reason="needs a PyTorch with oneDNN",
)


def matrix(rows: int, columns: int, *, transposed: bool = False) -> torch.Tensor:
    values = random(columns, rows, seed=rows).T if transposed else random(rows, columns, seed=rows)
    return values.float() if values.is_contiguous() else values.T.float().T


@pytest.fixture
def calls(monkeypatch):
    """The shapes that oneDNN multiplies, on a processor on which it is preferred."""
    found, multiply = [], _products.onednn_product
    monkeypatch.setattr(_products, "prefers_onednn", lambda: True)
    monkeypatch.setattr(_products, "onednn_product", lambda a, b: found.append((a.shape, b.shape)) or multiply(a, b))
    return found


@needs_onednn
@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("b_transposed", [False, True])
def test_onednn_equals_the_product_in_double_precision(a_transposed, b_transposed):
    a, b = matrix(70, 300, transposed=a_transposed), matrix(300, 110, transposed=b_transposed)
    expected = a.double() @ b.double()
    torch.testing.assert_close(_products.onednn_product(a, b).double(), expected, rtol=0, atol=2e-4)
    rows = _products.onednn_product(a[:, 100:], b[100:])  # views with gaps between their rows
    torch.testing.assert_close(rows.double(), a[:, 100:].double() @ b[100:].double(), rtol=0, atol=2e-4)


@needs_onednn
def test_large_products_are_by_onednn(calls):
    a, b = matrix(200, 150), matrix(150, 100)
    torch.testing.assert_close(_products.product(a, b), a @ b, rtol=0, atol=2e-4)
    assert calls == [(a.shape, b.shape)]


@pytest.mark.parametrize("dtypes", [(torch.float64, torch.float64), (torch.bfloat16, torch.bfloat16)])
def test_other_precisions_are_by_pytorch(calls, dtypes):
    a, b = (value.to(dtype) for value, dtype in zip((matrix(200, 150), matrix(150, 100)), dtypes, strict=True))
    assert torch.equal(_products.product(a, b), a @ b)
    assert not calls


def test_small_products_are_by_pytorch(calls):
    a, b = matrix(10, 100), matrix(100, 100)
    assert torch.equal(_products.product(a, b), a @ b)
    assert not calls


@needs_onednn
@pytest.mark.parametrize("scaled", [True, False])
def test_layer_is_the_same_by_either_library(calls, monkeypatch, scaled):
    monkeypatch.setattr(_products, "MIN_MULTIPLICATIONS", 1)
    (_, _, trusted, _), d = layer(2), 2 * M
    weight, basis = random(OUT, d).float(), orthogonal(d)[:, :M].float()
    inputs = random(5, d, seed=1).float().requires_grad_()
    results = []
    for preferred in (True, False):
        monkeypatch.setattr(_products, "prefers_onednn", lambda preferred=preferred: preferred)
        rotated = RotatedWeight(weight, basis, trusted, scaled=scaled)
        outputs = rotated.linear(inputs)
        results.append([outputs, *torch.autograd.grad(outputs.square().sum(), [inputs, rotated.active])])
    assert calls
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("processor", "capability", "preferred"),
    [
        ("vendor_id : AuthenticAMD", "AVX512", True),
        ("vendor_id : AuthenticAMD", "AVX2", False),
        ("vendor_id : GenuineIntel", "AVX512", False),
        ("", "AVX512", False),
    ],
)
@needs_onednn
def test_onednn_is_preferred_on_amd_with_avx512(monkeypatch, processor, capability, preferred):
    monkeypatch.setattr(_products, "processor_name", lambda: processor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    _products.prefers_onednn.cache_clear()
    assert _products.prefers_onednn() is preferred
    _products.prefers_onednn.cache_clear()


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\n", "vendor_id\t: AuthenticAMD"),
        ("processor\t: 0\nCPU implementer\t: 0x41\n", ""),  # ARM
        (None, "Intel64 Family 6, GenuineIntel"),  # not Linux
    ],
)
def test_processor_name(monkeypatch, tmp_path, cpuinfo, name):
    file = tmp_path / "cpuinfo"
    if cpuinfo is not None:
        file.write_text(cpuinfo)
    monkeypatch.setattr(_products, "Path", lambda _: file)
    monkeypatch.setattr(platform, "processor", lambda: "Intel64 Family 6, GenuineIntel")
    assert _products.processor_name() == name
