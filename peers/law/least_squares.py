#!/usr/bin/env python3
"""Asks numpy and scipy for least squares.

usage: least_squares.py > least_squares.json

Deterministic: the problems are made by a generator with a fixed seed; every figure is written with 17 digits.
"""
import json
import sys

import numpy as np
import scipy
import scipy.linalg

RCOND = 1e-7


def solve(design, observed):
    """As least_squares_solve: columns of length 1, minimum norm of the scaled solution."""
    lengths = np.linalg.norm(design, axis=0)
    used = lengths > 0
    scaled = design[:, used] / lengths[used]
    theirs, _, rank, _ = np.linalg.lstsq(scaled, observed, rcond=RCOND)
    other, _, other_rank, _ = scipy.linalg.lstsq(scaled, observed, cond=RCOND, lapack_driver="gelsy")
    assert rank == other_rank and np.allclose(theirs, other, rtol=1e-9, atol=1e-12)
    solution = np.zeros(design.shape[1])
    solution[used] = theirs / lengths[used]
    return solution, int(rank)


def problem(name, design, observed):
    design, observed = np.asarray(design, dtype=float), np.asarray(observed, dtype=float)
    solution, rank = solve(design, observed)
    rest = observed - design @ solution
    return {"name": name, "rows": design.shape[0], "columns": design.shape[1], "design": design.ravel().tolist(),
            "observed": observed.tolist(), "rank": rank, "solution": solution.tolist(),
            "residual_square": float(rest @ rest)}


def hilbert(n, m):
    return [[1.0 / (i + j + 1) for j in range(m)] for i in range(n)]


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
        problem("one column is twice another", [[1, 2, 0], [1, 2, 1], [1, 2, 4]], [5, 6, 9]),
        problem("a column of zeros", [[1, 0, 3], [2, 0, 1], [0, 0, 1], [1, 0, 1]], [1, 2, 3, 4]),
        problem("more columns than rows", [[1, 2, 3], [0, 1, 4]], [6, 5]),
        problem("columns of very different size", [[1e-6, 1e12], [2e-6, 1e12], [4e-6, 3e12]], [2e12, 3e12, 7e12]),
        problem("Hilbert, 8 by 5", hilbert(8, 5), range(8)),
        problem("random, 30 by 6", random.normal(size=(30, 6)), random.normal(size=30)),
        problem("peaks by relative errors, 60 by 4", *bytes_like(random, 60)),
    ]
    dependent = random.normal(size=(20, 4))
    dependent = np.column_stack([dependent, dependent[:, 0] - 3 * dependent[:, 2]])
    problems.append(problem("a column is a sum of two others", dependent, random.normal(size=20)))
    document = {"made_by": "peers/law/least_squares.py", "numpy": np.__version__, "scipy": scipy.__version__,
                "rcond": RCOND}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items()]
    lines.append('"problems": [\n' + ",\n".join(json.dumps(one) for one in problems) + "\n]")
    sys.stdout.write("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
