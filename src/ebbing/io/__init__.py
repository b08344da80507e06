"""Files of users: matrices (CSV, JSON, npy, npz) and problems (TOML)."""
