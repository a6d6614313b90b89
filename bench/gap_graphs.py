#!/usr/bin/env python3
"""Make graphs of the GAP benchmark's kinds for bench/clients.py, as LAGraph's drivers read them: FOLDER/NAME.grb, NAME.sources.mtx.

Names: kron-20 (R-MAT, 2^20 vertices, numbers shuffled), urand-20 (uniform), grid-1024 (1024 x 1024, 3 % of the edges missing).  Undirected,
without self edges, 16 edges a vertex drawn (the grid: 2), weights 1 to 255; 64 start vertices.  Always the same ones.

usage: gap_graphs.py FOLDER NAME…
SPDX-License-Identifier: Apache-2.0"""
import os
import sys

import numpy as np

DEGREE = 16
SOURCES = 64
HEADER = 512  # bytes of text before the numbers
INT32 = 3     # code of the type


def kron(rng, scale):
    """Ends of edges: each bit of both by one draw (.57, .19, .19, .05)."""
    count = DEGREE << scale
    rows, columns = np.zeros(count, np.int32), np.zeros(count, np.int32)
    for _ in range(scale):
        draw = rng.random(count, dtype=np.float32)
        rows = 2 * rows + (draw >= .76)
        columns = 2 * columns + (((draw >= .57) & (draw < .76)) | (draw >= .95))
    number = rng.permutation(1 << scale)
    return 1 << scale, number[rows], number[columns]


def urand(rng, scale):
    count = 1 << scale
    return count, rng.integers(0, count, DEGREE * count), rng.integers(0, count, DEGREE * count)


def grid(rng, side):
    at = np.arange(side * side).reshape(side, side)
    first = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    second = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    kept = rng.random(len(first)) < .97
    return side * side, first[kept], second[kept]


KINDS = {'kron': kron, 'urand': urand, 'grid': grid}


def symmetric(count, first, second, rng):
    """Offsets, columns and weights of the adjacency matrix: every edge once in each direction."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    key = np.unique((low.astype(np.int64) * count + high)[low != high])
    low, high = key // count, key % count
    weights = rng.integers(1, 256, len(key), dtype=np.int32)
    order = np.argsort(np.concatenate([key, high * count + low]))
    rows, columns = np.concatenate([low, high])[order], np.concatenate([high, low])[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    return offsets.astype(np.int64), columns.astype(np.int64), np.concatenate([weights, weights])[order]


def write_matrix(path, name, offsets, columns, weights):
    count, entries = len(offsets) - 1, len(columns)
    text = ''.join(f'{line}\n' for line in (
        'SuiteSparse:GraphBLAS matrix', f'{"v7.4.0":26}', f'nrows:  {count:<18}', f'ncols:  {count:<18}', f'nvec:   {count:<18}',
        f'nvals:  {entries:<18}', f'format: {"CSR":8}', f'size:   {weights.itemsize:<18}', f'type:   {"GrB_INT32":72}', 'iso:    0', name))
    by_row, sparse, hyper_switch, not_known = np.int32(0), np.int32(2), np.float64(.0625), np.int64(-1)
    numbers = [by_row, sparse, hyper_switch, np.int64(count), np.int64(count), not_known, np.int64(count), np.int64(entries), np.int32(INT32),
               np.int64(weights.itemsize)]
    with open(path, 'wb') as file:
        file.write(text.encode().ljust(HEADER - 1) + b'\0' + b''.join(number.tobytes() for number in numbers))
        for array in (offsets, columns, weights):
            array.tofile(file)


def write_sources(path, vertices):
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'%%MatrixMarket matrix array integer general\n%%GraphBLAS type int64_t\n{len(vertices)} 1\n')
        file.writelines(f'{vertex + 1}\n' for vertex in vertices)


def make(folder, name):
    kind, size = name.split('-')
    rng = np.random.default_rng(1)
    offsets, columns, weights = symmetric(*KINDS[kind](rng, int(size)), rng)
    write_matrix(os.path.join(folder, name + '.grb'), name, offsets, columns, weights)
    write_sources(os.path.join(folder, name + '.sources.mtx'), rng.choice(np.flatnonzero(np.diff(offsets)), SOURCES))


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for given in sys.argv[2:]:
        make(sys.argv[1], given)
