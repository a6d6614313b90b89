#!/usr/bin/env python3
"""Programs as users of python-graphblas write them, for bench/python_programs.py: of each a line with its name, the milliseconds that it took
and those of all threads (its first calls among them), and its answers.

usage: python_users.py SCALE [PROGRAM…]     (of an R-MAT graph)
SPDX-License-Identifier: Apache-2.0"""
import hashlib
import sys
import time

import numpy as np
from graphblas import Matrix, Vector, agg, binary, dtypes, monoid, select, semiring, unary


def rmat(scale, degree=12, seed=3):
    """Both directions of each edge, no loops; whole numbers from 1 to 9 as weights."""
    rng, count = np.random.default_rng(seed), degree << scale
    i, j = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        r = rng.random(count)
        i = 2 * i + (r >= .76)
        j = 2 * j + (((r >= .57) & (r < .76)) | (r >= .95))
    low, high = np.minimum(i, j), np.maximum(i, j)
    pairs = np.unique(low[low != high] * (1 << scale) + high[low != high])
    low, high, weight = pairs >> scale, pairs & ((1 << scale) - 1), rng.integers(1, 10, len(pairs))
    n = 1 << scale
    return Matrix.from_coo(np.concatenate([low, high]), np.concatenate([high, low]), np.concatenate([weight, weight]), dtype=dtypes.FP64,
                           nrows=n, ncols=n)


def digest(thing):
    """Structure and values; floating point to nine digits, as sums may be added in another order."""
    rows, *rest = thing.to_coo()
    values = rest[-1]
    if values.dtype.kind == 'f':
        values = np.array(['%.9g' % (x + 0.0) for x in values.ravel()])
    made = hashlib.md5()
    for part in (rows, *rest[:-1], values):
        made.update(np.ascontiguousarray(part).tobytes())
    return f'{thing.nvals} {thing.dtype} {made.hexdigest()[:12]}'


def pagerank(a):
    """Personalized PageRank of 8 sources at once, until it stands still; then the best of each."""
    n, sources, damping = a.nrows, 8, 0.85
    share = a.apply(unary.one).new().reduce_rowwise(monoid.plus).new().apply(unary.minv).new()
    step = a.apply(unary.one).new()
    scaled = semiring.plus_times(share.diag() @ step).new().T.new()
    start = np.zeros((n, sources))
    hubs = np.argsort(-step.reduce_rowwise(monoid.plus).new().to_dense(fill_value=0), kind='stable')[:sources]
    start[hubs, range(sources)] = 1 - damping
    restart = Matrix.from_dense(start)
    rank = restart.dup()
    for _ in range(40):
        before = rank.dup()
        rank << restart
        rank(binary.plus) << semiring.plus_times(scaled @ before).new().apply(binary.times, right=damping)
        if (rank - before).new().apply(unary.abs).reduce_scalar(monoid.plus).new().value < 1e-7:
            break
    best = [int(np.argmax(column)) for column in rank.to_dense(fill_value=0).T]
    return [str(best), '%.6f' % rank.reduce_scalar(monoid.plus).new().value]


def ktruss(a, k=5):
    """Edges that lie in k - 2 triangles among themselves."""
    c = a.apply(unary.one).new(dtype='INT64')
    while True:
        edges = c.nvals
        c(c.S, replace=True) << semiring.plus_pair['INT64'](c @ c.T)
        c << c.select(select.valuege, k - 2)
        if c.nvals == edges:
            return [digest(c)]


def labels(a):
    """Connected components by the largest label."""
    n, done, rounds = a.nrows, False, 0
    pattern = a.apply(unary.one).new(dtype='INT64')
    label = Vector.from_coo(np.arange(n), np.arange(n), dtype='INT64', size=n)
    while not done:
        before = label.dup()
        label(binary.max) << semiring.max_second(pattern @ before)
        done = label.isequal(before)
        rounds += 1
    return [str(rounds), digest(label)]


def levels(a):
    """Breadth-first search from vertex 0: a frontier under the complement of what was visited."""
    n, depth = a.nrows, 0
    pattern = a.apply(unary.one).new(dtype='BOOL')
    visited, level = Vector('BOOL', n), Vector('INT32', n)
    frontier = Vector.from_coo([0], [True], size=n, dtype='BOOL')
    while frontier.nvals:
        level(frontier.S) << depth
        visited(frontier.S) << True
        frontier(~visited.S, replace=True) << semiring.any_pair['BOOL'](frontier @ pattern)
        depth += 1
    return [digest(level)]


def delta_stepping(a, delta=3.0):
    """Shortest paths from the greatest hub, by light and heavy edges."""
    n = a.nrows
    light, heavy = a.select(select.valuele, delta).new(), a.select(select.valuegt, delta).new()
    source = int(np.argmax(a.reduce_rowwise(agg.count).new().to_dense(fill_value=0)))
    t = Vector('FP64', n)
    t[source] = 0
    bucket = 0
    while True:
        rest = t.select(select.valuege, bucket * delta).new()
        if not rest.nvals:
            return [digest(t)]
        active = rest.select(select.valuelt, (bucket + 1) * delta).new()
        settled = Vector('BOOL', n)
        while active.nvals:
            settled(active.S) << True
            request = semiring.min_plus(active @ light).new()
            smaller = binary.lt(request & t).new(dtype='BOOL')
            new = Vector('BOOL', n)
            new(~t.S) << request.apply(unary.one).new(dtype='BOOL')
            t(binary.min) << request
            changed = Vector('FP64', n)
            changed(smaller.V) << request
            changed(new.S) << request
            active << changed.select(select.valuelt, (bucket + 1) * delta)
        reached = Vector('FP64', n)
        reached(settled.S) << t
        t(binary.min) << semiring.min_plus(reached @ heavy)
        bucket += 1


def gcn(a, layers=3, features=32):
    """Layers with a bias by an accumulator, FP32 from an FP64 graph, ReLU, and a mask of vertices that are learned from."""
    n = a.nrows
    rng, ones = np.random.default_rng(4), Vector.from_scalar(np.float32(1), n, dtype='FP32')
    adjacency = a.apply(unary.one).new(dtype='FP32')
    adjacency(binary.plus) << ones.diag()
    degree = adjacency.reduce_rowwise(monoid.plus).new().apply(unary.sqrt).new().apply(unary.minv).new(dtype='FP32')
    normal = semiring.plus_times(degree.diag() @ adjacency).new(dtype='FP32')
    normal << semiring.plus_times(normal @ degree.diag())
    h = Matrix.from_dense(rng.integers(-3, 4, (n, features)).astype(np.float32))
    for _ in range(layers):
        w = Matrix.from_dense((rng.integers(-2, 3, (features, features)) / 4).astype(np.float32))
        bias = Vector.from_dense((rng.integers(-2, 3, features) / 8).astype(np.float32))
        z = ones.outer(bias, binary.second).new(dtype='FP32')
        z(binary.plus) << semiring.plus_times(normal @ semiring.plus_times(h @ w).new(dtype='FP32'))
        h = z.apply(binary.max, right=np.float32(0)).new()
    some = Vector.from_coo(np.arange(0, n, 3), True, size=n, dtype='BOOL')
    total = Vector('FP32', n)
    total(some.S, replace=True) << h.reduce_rowwise(monoid.plus)
    scores = total.to_dense(fill_value=0).astype(np.float64)
    return [f'{total.nvals}', '%.4g' % scores.sum(), f'{h.nvals}', h.dtype.name]


def spectral(a, columns=16, rounds=4):
    """Greatest eigenvalues by subspace iteration: NumPy, whose threads spin for a while after each call, takes turns with sparse products."""
    x = np.random.default_rng(5).standard_normal((a.nrows, columns))
    for _ in range(rounds):
        x, _ = np.linalg.qr(semiring.plus_times(a @ Matrix.from_dense(x)).new().to_dense(fill_value=0))
    values = np.linalg.eigvalsh(x.T @ semiring.plus_times(a @ Matrix.from_dense(x)).new().to_dense(fill_value=0))
    return [' '.join('%.6g' % value for value in values[-4:])]


def casts(a):
    """Mixed types, masks with replace and complement, accumulators, a product of sparse matrices, submatrices."""
    n = a.nrows
    small = a.apply(binary.times, right=2.5).new(dtype='INT16')
    flags = a.select(select.valuegt, 5).new(dtype='BOOL')
    rows = np.arange(0, n, 7)
    part = small[rows, :].new()
    product = semiring.plus_times['INT32'](part @ small).new(dtype='INT64')
    product << product.select(select.valuegt, 100)
    c = Matrix('FP32', n, n)
    c(flags.S, replace=True) << semiring.plus_plus(small @ flags.T)
    c(~flags.V, binary.plus) << small
    c(flags.V, binary.max) << a
    v = c.reduce_columnwise(monoid.max).new(dtype='INT32')
    w = semiring.min_max['INT32'](small @ v).new()
    w(~flags.reduce_rowwise(monoid.lor).new().V, replace=True) << v
    u = semiring.plus_land['INT8'](flags @ Vector.from_scalar(3, n, dtype='INT8')).new()
    return [digest(product), digest(c), digest(v), digest(w), digest(u)]


PROGRAMS = {made.__name__: made for made in (pagerank, ktruss, labels, levels, delta_stepping, gcn, spectral, casts)}


def main():
    scale, names = int(sys.argv[1]), sys.argv[2:] or list(PROGRAMS)
    a = rmat(scale)
    a.wait()
    for name in names:
        began, cpu = time.perf_counter(), time.process_time()
        answers = PROGRAMS[name](a)
        took = time.perf_counter() - began, time.process_time() - cpu
        print(name, *(f'{1e3 * seconds:.1f}' for seconds in took), '; '.join(answers), sep='\t', flush=True)


if __name__ == '__main__':
    main()
