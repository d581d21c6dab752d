#!/usr/bin/env python3
"""Asks scipy for least squares without negative coefficients, and numpy for condition numbers.

usage: least_squares.py > least_squares.json

Deterministic: the problems are made by a generator with a fixed seed; every figure is written with 17 digits.
"""
import json
import sys

import numpy as np
import scipy
import scipy.optimize


def problem(name, design, observed):
    design, observed = np.asarray(design, dtype=float), np.asarray(observed, dtype=float)
    lengths = np.linalg.norm(design, axis=0)
    used = lengths > 0
    scaled, _ = scipy.optimize.nnls(design[:, used] / lengths[used], observed)
    solution = np.zeros(design.shape[1])
    solution[used] = scaled / lengths[used]
    rest = observed - design @ solution
    return {"name": name, "rows": design.shape[0], "columns": design.shape[1], "design": design.ravel().tolist(),
            "observed": observed.tolist(), "solution": solution.tolist(), "residual_square": float(rest @ rest),
            "condition": float(np.linalg.cond(design[:, used] / lengths[used]))}


def bytes_like(random, rows):
    """Columns as a law of memory has them: a constant, weights, tokens x hidden, tokens x vocabulary; relative weights."""
    tokens = random.integers(32, 2048, rows).astype(float)
    hidden = random.choice([384, 512, 640, 768], rows).astype(float)
    vocabulary = random.choice([1000, 16384, 32000], rows).astype(float)
    weights = random.uniform(4e7, 5e8, rows)
    design = np.column_stack([np.full(rows, 2.0 ** 20), weights, 4 * tokens * hidden, 4 * tokens * vocabulary])
    peak = design @ [0.6, 1.0, 5.0, 1.0] * random.normal(1.0, 0.01, rows)
    return design / peak[:, None], np.ones(rows)


def main():
    random = np.random.default_rng(19)
    problems = [
        problem("a line", [[1, 0], [1, 1], [1, 2], [1, 3]], [1, 3.5, 4.5, 7.25]),
        problem("a falling line", [[1, 0], [1, 1], [1, 2]], [5, 3, 1]),
        problem("a column of zeros", [[1, 0, 3], [2, 0, 1], [0, 0, 1], [1, 0, 1]], [1, 2, 3, 4]),
        problem("columns of very different size", [[1e-6, 1e12], [2e-6, 1e12], [4e-6, 3e12]], [2e12, 3e12, 7e12]),
        problem("nothing may be used", [[1, 2], [2, 1], [1, 1]], [-1, -2, -3]),
        problem("peaks by relative errors, 60 by 4", *bytes_like(random, 60)),
    ]
    for columns in (3, 6, 9, 13):
        design = np.abs(random.normal(size=(40, columns)))
        problems.append(problem(f"random, 40 by {columns}", design, design @ random.normal(size=columns)))
    document = {"made_by": "peers/law/least_squares.py", "numpy": np.__version__, "scipy": scipy.__version__}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items()]
    lines.append('"problems": [\n' + ",\n".join(json.dumps(one) for one in problems) + "\n]")
    sys.stdout.write("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
