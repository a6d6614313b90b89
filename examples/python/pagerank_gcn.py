#!/usr/bin/env python3
"""PageRank and one layer of a graph convolutional network with python-graphblas; nothing here knows of Tessera.

usage: pagerank_gcn.py [VERTICES [FEATURES]]     SPDX-License-Identifier: Apache-2.0
"""
import sys
import time

import numpy as np
import graphblas as gb
from graphblas import Matrix, Vector, binary, monoid, semiring, unary


def power_law_graph(vertices, degree=16, seed=1):
    """A directed graph whose targets are skewed; duplicates and loops are dropped."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, vertices, vertices * degree)
    target = (vertices * rng.random(vertices * degree) ** 3).astype(np.int64)
    keep = source != target
    return Matrix.from_coo(source[keep], target[keep], np.float32(1), nrows=vertices, ncols=vertices)


def pagerank(a, damping=0.85, rounds=30):
    """Ranks by plain iteration; vertices without targets give nothing."""
    n = a.nrows
    degree = a.reduce_rowwise(monoid.plus).new()
    share = degree.apply(unary.minv).new()
    rank = Vector.from_scalar(np.float32(1 / n), n, dtype="FP32")
    transposed = a.T.new()
    for _ in range(rounds):
        given = rank.ewise_mult(share, binary.times).new(dtype="FP32")
        rank = Vector.from_scalar(np.float32((1 - damping) / n), n, dtype="FP32")
        given << given.apply(binary.times, right=np.float32(damping))
        rank(binary.plus) << semiring.plus_second(transposed @ given)
    return rank


def gcn_layer(a, x, w):
    """max (0, A X W), all in FP32."""
    h = semiring.plus_times(a @ semiring.plus_times(x @ w).new(dtype="FP32")).new(dtype="FP32")
    return h.apply(binary.max, right=np.float32(0)).new()


def main():
    vertices = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    features = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    a = power_law_graph(vertices)
    rng = np.random.default_rng(2)
    x = Matrix.from_dense(rng.standard_normal((vertices, features), dtype=np.float32))
    w = Matrix.from_dense(rng.standard_normal((features, features), dtype=np.float32))
    began = time.perf_counter()
    rank = pagerank(a)
    middle = time.perf_counter()
    h = gcn_layer(a, x, w)
    ended = time.perf_counter()
    first = int(np.argmax(rank.to_dense(fill_value=0)))
    print(f"python-graphblas {gb.__version__}, {vertices} vertices, {a.nvals} edges")
    print(f"highest rank: vertex {first}, sum of ranks {rank.reduce(monoid.plus).value:.4f}, {1e3 * (middle - began):.0f} ms")
    print(f"layer: {h.nrows} x {h.ncols}, sum {h.reduce_scalar(monoid.plus).value:.4g}, {1e3 * (ended - middle):.0f} ms")


if __name__ == "__main__":
    main()
