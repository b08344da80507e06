"""Draw docs/figures/evaluations.svg: what changed between two evaluations (the example of howto/compare_models.md)."""

from pathlib import Path

from ebbing.metrics import compare_evaluations
from ebbing.plot.evaluations import save

EXAMPLE = {
    "base": {
        "gsm8k": (0.520, 0.0138),
        "mmlu": (0.630, 0.0039),
        "arc": (0.550, 0.0145),
        "winogrande": (0.740, 0.0123),
        "truthfulqa": (0.450, 0.0145),
    },
    "tuned": {
        "gsm8k": (0.430, 0.0136),
        "mmlu": (0.615, 0.0039),
        "arc": (0.540, 0.0146),
        "winogrande": (0.735, 0.0124),
        "truthfulqa": (0.510, 0.0146),
    },
}

if __name__ == "__main__":
    save(compare_evaluations(EXAMPLE), Path(__file__).with_name("evaluations.svg"))
