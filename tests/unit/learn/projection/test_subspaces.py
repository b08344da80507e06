"""Subspaces of representations: the three selection rules against plain reference implementations.

Energies of random matrices lie far apart compared with rounding, so the reference (one vector after the other, in
NumPy) must select the same directions up to sign: inner products are 1 to 1e-9.
"""

import numpy as np
import pytest
import torch

from ebbing.learn.projection._calls import square_root
from ebbing.learn.projection.subspaces import (
    BasisUpdate,
    ResidualSpectrum,
    extend_basis,
    initial_basis,
    orthogonal_complement,
    spectrum,
    strongest_directions,
)

ALIKE = 1e-9


pytestmark = pytest.mark.usefixtures("quietly")


def matrix(rows: int, columns: int, seed: int, rank: int | None = None) -> torch.Tensor:
    """Return a random matrix whose singular values fall by a third from one direction to the next."""
    random = np.random.default_rng(seed)
    rank = min(rows, columns) if rank is None else rank
    left, right = (np.linalg.qr(random.standard_normal((size, rank)))[0] for size in (rows, columns))
    return torch.from_numpy(left * 1.5 ** -np.arange(rank) @ right.T)


def orthonormal(rows, columns, seed):
    return torch.from_numpy(np.linalg.qr(np.random.default_rng(seed).standard_normal((rows, columns)))[0])


def directions(R):
    """Return left singular vectors with their energies, strongest first, by NumPy."""
    vectors, values, _ = np.linalg.svd(np.asarray(R), full_matrices=False)
    return [(float(value) ** 2, vector) for value, vector in zip(values, vectors.T, strict=True)]


def reference_initial(R, threshold, *, include_crossing):
    total, kept, chosen = float((R**2).sum()), 0.0, []
    for energy, vector in directions(R):
        kept += energy
        if kept < threshold * total or include_crossing or not chosen:
            chosen.append(vector)
        if kept >= threshold * total:
            break
    return chosen


def reference_extend(M, R, threshold):
    M, R = np.asarray(M), np.asarray(R)
    total, inside, chosen = (R**2).sum(), M @ (M.T @ R), []
    kept = (inside**2).sum()
    for energy, vector in directions(R - inside):
        if kept >= threshold * total:
            break
        kept += energy
        chosen.append(vector)
    return chosen


def reference_strongest(M, R, threshold):
    """Return the selected vectors, strongest first, each with its old column or None."""
    M, R = np.asarray(M), np.asarray(R)
    candidates = [(float((M[:, k] @ R) @ (M[:, k] @ R)), k, M[:, k]) for k in range(M.shape[1])]
    candidates += [(energy, None, vector) for energy, vector in directions(R - M @ (M.T @ R))]
    kept, chosen = 0.0, []
    for energy, column, vector in sorted(candidates, key=lambda candidate: -candidate[0]):
        if kept >= threshold * (R**2).sum():
            break
        kept += energy
        chosen.append((column, vector))
    return chosen


def assert_alike(found, expected):
    """Compare column by column, up to sign."""
    assert found.shape[1] == len(expected)
    for column, vector in zip(found.T.numpy(), expected, strict=True):
        assert abs(abs(column @ vector) - 1) < ALIKE


def assert_orthonormal(basis, tolerance=1e-12):
    assert (basis.T @ basis - torch.eye(basis.shape[1], dtype=basis.dtype)).abs().max() <= tolerance


# The spectrum


@pytest.mark.parametrize("shape", [(7, 4), (7, 7), (7, 30), (1, 5), (5, 1)])
def test_spectrum_equals_that_of_numpy(shape):
    R = matrix(shape[0], shape[1], seed=1)
    vectors, energies = spectrum(R)
    expected = directions(R)
    assert (energies.diff() <= 0).all()
    np.testing.assert_allclose(energies, [energy for energy, _ in expected], rtol=1e-12)
    assert_alike(vectors, [vector for _, vector in expected])
    assert_orthonormal(vectors)


@pytest.mark.parametrize("m", [0, 1, 5, 8])
@pytest.mark.parametrize("columns", [1, 5, 8, 30])
def test_residual_spectrum_equals_the_plain_one(columns, m):
    """From E'E for tall matrices and from N'R for wide ones: both are compared with the SVD of the residual."""
    R, M = matrix(8, columns, seed=1), orthonormal(8, m, seed=2)
    vectors, energies = spectrum(R - M @ (M.T @ R))
    found, rank = ResidualSpectrum(M, R), min(columns, 8 - m)
    assert (found.energies >= 0).all()
    torch.testing.assert_close(found.energies[:rank], energies[:rank], rtol=1e-9, atol=1e-15)
    assert (found.energies[rank:] < 1e-15).all()
    assert_alike(found.directions(rank), [*vectors[:, :rank].T.numpy()])
    torch.testing.assert_close(found.inside, M.T @ R)


@pytest.mark.parametrize("columns", [40, 90])
def test_weak_directions_are_orthonormal_after_selection(columns):
    """Energies fall to 1e-12, where E'E has lost most digits: what is selected is orthonormal all the same."""
    left, right = orthonormal(60, 30, seed=3), orthonormal(columns, 30, seed=4)
    R = left * 10 ** torch.linspace(0, -5.8, 30, dtype=torch.float64) @ right.T
    update = initial_basis(R, 1)
    assert update.new.shape == (60, 30)
    assert_orthonormal(update.new)
    distances = left - update.new @ (update.new.T @ left)
    assert distances.norm(dim=0).max() < 1e-3


@pytest.mark.parametrize("columns", [3, 20])
def test_square_root_of_a_gram_matrix_has_its_energies(columns):
    R = matrix(8, columns, seed=5)
    root = square_root(R @ R.T)
    assert root.shape == (8, 8)
    torch.testing.assert_close(root @ root.T, R @ R.T, rtol=0, atol=1e-13)
    expected, found = (extend_basis(orthonormal(8, 2, seed=6), one, 0.9) for one in (R, root))
    assert_alike(found.new, [*expected.new.T.numpy()])


def test_square_root_drops_negative_energies():
    root = square_root(torch.diag(torch.tensor([1.0, -1e-6], dtype=torch.float64)))
    torch.testing.assert_close(root @ root.T, torch.diag(torch.tensor([1.0, 0.0], dtype=torch.float64)))


@pytest.mark.parametrize("m", [0, 3, 8])
def test_complement_is_that_of_a_complete_qr(m):
    basis = orthonormal(8, m, seed=7)
    expected = torch.linalg.qr(basis, mode="complete").Q[:, m:]
    torch.testing.assert_close(orthogonal_complement(basis), expected, rtol=0, atol=1e-14)


# First task


@pytest.mark.parametrize("columns", [5, 40])
@pytest.mark.parametrize("threshold", [0.3, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("include_crossing", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_initial_basis_reaches_the_threshold(columns, threshold, include_crossing, seed):
    R = matrix(9, columns, seed)
    update = initial_basis(R, threshold, include_crossing=include_crossing)
    assert_alike(update.new, reference_initial(R, threshold, include_crossing=include_crossing))
    assert update.used.tolist() == list(range(update.new.shape[1]))


@pytest.mark.parametrize(
    ("include_crossing", "ranks"),
    [(True, [1, 2, 2, 3, 3, 4]), (False, [1, 1, 1, 2, 2, 3])],  # at least one: a dominant direction must be protected
)
def test_initial_basis_with_and_without_crossing(include_crossing, ranks):
    R = torch.diag(torch.tensor([3.0, 2.0, 1.0, 1.0, 1.0]))  # shares 9/16, 4/16 and three times 1/16
    thresholds = (0.56, 0.57, 0.81, 0.82, 0.87, 0.88)
    assert [
        initial_basis(R, threshold, include_crossing=include_crossing).new.shape[1] for threshold in thresholds
    ] == ranks


@pytest.mark.parametrize(("columns", "rank"), [(5, 5), (40, 9), (40, 4), (6, 2)])
def test_threshold_1_keeps_every_direction(columns, rank):
    """The rounding of the sum of energies does not matter, and no rounding noise is selected."""
    for seed in range(5):
        R = matrix(9, columns, seed, rank)
        update = initial_basis(R, 1.0)
        assert update.new.shape[1] == rank
        assert (R - update.new @ (update.new.T @ R)).abs().max() < 1e-12


@pytest.mark.parametrize("threshold", [0.5, 0.97, 1.0])
@pytest.mark.parametrize("columns", [1, 3, 20])
def test_zero_inputs_use_no_direction(threshold, columns):
    R = torch.zeros(6, columns)
    for update in (initial_basis(R, threshold), strongest_directions(orthonormal(6, 2, 0), R, threshold)):
        assert update.new.shape == (6, 0)
        assert update.used.tolist() == []
    update = extend_basis(orthonormal(6, 2, 0), R, threshold)
    assert update.new.shape == (6, 0)


# Later tasks


@pytest.mark.parametrize("columns", [5, 40])
@pytest.mark.parametrize("old", [1, 4, 8])
@pytest.mark.parametrize("threshold", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_extend_basis_adds_leading_residual_directions(columns, old, threshold, seed):
    M, R = orthonormal(9, old, seed + 10), matrix(9, columns, seed)
    update = extend_basis(M, R, threshold)
    assert_alike(update.new, reference_extend(M, R, threshold))
    assert update.used.tolist() == list(range(old + update.new.shape[1]))


@pytest.mark.parametrize("columns", [5, 40])
@pytest.mark.parametrize("old", [1, 4, 8])
@pytest.mark.parametrize("threshold", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_strongest_directions_are_ranked_by_energy(columns, old, threshold, seed):
    M, R = orthonormal(9, old, seed + 10), matrix(9, columns, seed)
    update, chosen = strongest_directions(M, R, threshold), reference_strongest(M, R, threshold)
    assert_alike(update.new, [vector for column, vector in chosen if column is None])
    new = iter(range(old, 9))
    assert update.used.tolist() == [next(new) if column is None else column for column, _ in chosen]


def test_selection_rules_by_hand():
    eye = torch.eye(5, dtype=torch.float64)
    R = torch.diag(torch.tensor([3.0, 2.0, 1.0, 0.0, 0.0], dtype=torch.float64))  # shares 9/14, 4/14, 1/14
    M = eye[:, [3, 2, 0]]
    update = strongest_directions(M, R, 0.9)  # 9/14 is old column 2, 4/14 is new
    assert update.used.tolist() == [2, 3]
    torch.testing.assert_close(update.new.abs(), eye[:, [1]])
    assert strongest_directions(M, R, 0.95).used.tolist() == [2, 3, 1]
    assert strongest_directions(M, R, 0.6).used.tolist() == [2]
    assert strongest_directions(M, R, 0.6).new.shape == (5, 0)
    assert extend_basis(M, R, 0.7).new.shape == (5, 0)  # 10/14 is old
    assert extend_basis(M, R, 0.72).used.tolist() == [0, 1, 2, 3]


def kept(M, R, update: BasisUpdate):
    whole = torch.cat([M, update.new], dim=1)[:, update.used]
    return float((whole.T @ R).square().sum() / R.square().sum())


@pytest.mark.parametrize("rule", [extend_basis, strongest_directions])
@pytest.mark.parametrize("seed", range(3))
def test_kept_energy_reaches_and_follows_the_threshold(rule, seed):
    M, R = orthonormal(12, 4, seed), matrix(12, 50, seed + 1)
    shares = [kept(M, R, rule(M, R, threshold)) for threshold in np.linspace(0.05, 1, 20)]
    assert all(share >= threshold - 1e-12 for share, threshold in zip(shares, np.linspace(0.05, 1, 20), strict=True))
    assert (np.diff(shares) >= -1e-12).all()
    assert shares[-1] > 1 - 1e-12


@pytest.mark.parametrize("rule", [extend_basis, strongest_directions])
@pytest.mark.parametrize("threshold", [0.97, 1.0])
def test_complete_basis_is_not_extended(rule, threshold):
    M = orthonormal(6, 6, 3)
    for precision in (torch.float64, torch.float32):  # bases are stored with the dtype of the network
        update = rule(M.to(precision), matrix(6, 20, 0).to(precision), threshold)
        assert update.new.shape == (6, 0)


@pytest.mark.parametrize("rule", [extend_basis, strongest_directions])
@pytest.mark.parametrize("columns", [4, 30])
def test_low_rank_matrix_adds_no_noise_directions(rule, columns):
    M = orthonormal(10, 3, 0)
    R = matrix(10, columns, 1, rank=2)
    update = rule(M, R, 1.0)
    assert update.new.shape[1] == 2
    whole = torch.cat([M, update.new], dim=1)
    assert (R - whole @ (whole.T @ R)).abs().max() < 1e-12
    inside = M @ torch.from_numpy(np.random.default_rng(2).standard_normal((3, columns)))
    assert rule(M, inside, 1.0).new.shape[1] == 0


@pytest.mark.parametrize("rule", [extend_basis, strongest_directions])
@pytest.mark.parametrize("columns", [6, 60])
def test_bases_stay_orthonormal_over_ten_tasks(rule, columns):
    """Also if a task lies almost inside the basis, so that its residual is small and inaccurate."""
    M = initial_basis(matrix(40, columns, 0), 0.9).new
    for task in range(1, 10):
        R = matrix(40, columns, task)
        if task % 3 == 0:
            R = M @ (M.T @ R) + 1e-4 * R
        update = rule(M, R, 0.9 if task % 3 else 1.0)
        used = update.used
        assert len(set(used.tolist())) == len(used)
        M = torch.cat([M, update.new], dim=1)
        assert used.max() < M.shape[1]
        assert_orthonormal(M)
    assert 10 < M.shape[1] <= 40


def test_single_precision_is_measured_in_double():
    R = matrix(9, 40, 0).float()
    update = initial_basis(R, 0.9)
    assert update.new.dtype == torch.float64
    assert_orthonormal(update.new)
    assert_alike(update.new, reference_initial(R.double(), 0.9, include_crossing=True))
