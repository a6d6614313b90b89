#!/usr/bin/env python3
"""Sharing one product of a sparse matrix A (n x n) with a dense one B (n x N) among devices: rows of B that travel, and predicted times, by
needed rows (A cut by rows), by columns (A everywhere, B and C cut by columns), by 1.5D (rows cut into devices / c parts, each on c devices).

usage: scale_model.py [--graph rmat:SCALE|mesh:SIDE|FILE.mtx] [--order own|shuffled] [--cut weight|rows] [--parts 2,4,...] [--columns N]
                      [--rate GFLOPS] [--link GB_PER_S] [--value BYTES] [--json]

cut: parts weigh the same, rows and entries counted half each, or have equally many rows, as PETSc deals them out.

rate: one device's product.  A link carries what a device receives, and work and links do not overlap.  Latency is not counted.
SPDX-License-Identifier: Apache-2.0"""
import argparse
import gzip
import json
import random
import sys


# ---- graphs: rows of column numbers ----

def rmat(scale, factor=16):
    """As examples/mpi/sources.c makes it: symmetric, no loops."""
    n, state, rows = 1 << scale, 88172645463325252, [set() for _ in range(1 << scale)]
    for _ in range(factor * n):
        u = v = 0
        for _ in range(scale):
            state ^= state << 13 & (1 << 64) - 1
            state ^= state >> 7
            state ^= state << 17 & (1 << 64) - 1
            r = (state >> 11) * 2.0**-53
            u, v = 2 * u + (r >= .76), 2 * v + (.57 <= r < .76 or r >= .95)
        if u != v:
            rows[u].add(v)
            rows[v].add(u)
    return rows


def mesh(side):
    """27 points in three dimensions."""
    near = (-1, 0, 1)
    return [{x + dx + side * (y + dy + side * (z + dz)) for dx in near for dy in near for dz in near
             if 0 <= x + dx < side and 0 <= y + dy < side and 0 <= z + dz < side}
            for z in range(side) for y in range(side) for x in range(side)]


def matrix_market(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt', encoding='utf-8') as file:
        symmetric = 'symmetric' in file.readline()
        lines = (line.split() for line in file if not line.startswith('%'))
        rows = [set() for _ in range(int(next(lines)[0]))]
        for words in lines:
            i, j = int(words[0]) - 1, int(words[1]) - 1
            rows[i].add(j)
            if symmetric:
                rows[j].add(i)
    return rows


def open_graph(name):
    kind, _, size = name.partition(':')
    return rmat(int(size)) if kind == 'rmat' else mesh(int(size)) if kind == 'mesh' else matrix_market(name)


# ---- parts ----

def shuffle(rows):
    places = list(range(len(rows)))
    random.Random(1).shuffle(places)
    out = [set()] * len(rows)
    for old, new in enumerate(places):
        out[new] = {places[c] for c in rows[old]}
    return out


def cut_evenly(rows, parts):
    """Part of each row: equally many, the first ones one more."""
    few, more = divmod(len(rows), parts)
    return [part for part in range(parts) for _ in range(few + (part < more))]


def cut(rows, parts):
    """Part of each row: consecutive rows, weighed as tsr_sparse_cut_rows does."""
    entries, weight, part, of = sum(map(len, rows)) or 1, 0.0, 0, []
    for row in rows:
        while part + 1 < parts and weight >= (part + 1) / parts:
            part += 1
        of.append(part)
        weight += .5 / len(rows) + .5 * len(row) / entries
    return of


def count(rows, parts, o):
    """For each part: rows of B that it receives, its entries."""
    of = cut_evenly(rows, parts) if o.cut == 'rows' else cut(rows, parts)
    needed, entries = [set() for _ in range(parts)], [0] * parts
    for row, part in zip(rows, of):
        entries[part] += len(row)
        needed[part].update(c for c in row if of[c] != part)
    return [len(s) for s in needed], entries


# ---- times ----

def replication(parts):
    """The c of 1.5D: a divisor of the number of devices near its root."""
    return max(c for c in range(1, parts + 1) if parts % c == 0 and c * c <= parts)


def predict(rows, parts, o):
    n, nvals = len(rows), sum(map(len, rows))
    row_bytes = o.columns * o.value

    def work(entries):
        return 2e-6 * entries * o.columns / o.rate

    def move(count_):
        return 1e-6 * count_ * row_bytes / o.link

    received, entries = count(rows, parts, o)
    c = replication(parts)
    few, few_entries = count(rows, parts // c, o)
    joined = n / (parts // c) * 2 * (c - 1) / c  # partial rows of C, summed and shared among c devices
    return {'graph': o.graph, 'columns': o.columns, 'parts': parts, 'rows_received': sum(received), 'share': max(received) / n, 'one_ms': work(nvals),
            'needed_rows_ms': work(max(entries)) + move(max(received)), 'columns_ms': work(nvals) / parts, 'c': c,
            '1.5d_ms': work(max(few_entries) / c) + move(max(few) / c + joined)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--graph', default='rmat:12')
    parser.add_argument('--order', choices=('own', 'shuffled'), default='own')
    parser.add_argument('--cut', choices=('weight', 'rows'), default='weight')
    parser.add_argument('--parts', default='2,4,8,128')
    parser.add_argument('--columns', type=int, default=128)
    parser.add_argument('--rate', type=float, default=1000)
    parser.add_argument('--link', type=float, default=50)
    parser.add_argument('--value', type=int, default=8)
    parser.add_argument('--json', action='store_true')
    o = parser.parse_args()
    rows = open_graph(o.graph)
    rows = shuffle(rows) if o.order == 'shuffled' else rows
    results = [predict(rows, int(parts), o) for parts in o.parts.split(',')]
    if o.json:
        print('\n'.join(map(json.dumps, results)))
        return 0
    print(f'{o.graph}, {o.order} order: {len(rows)} rows, {sum(map(len, rows))} entries, N = {o.columns}, '
          f'{o.rate:g} GFLOP/s, {o.link:g} GB/s, ms')
    print(f'{"devices":>8} {"received":>10} {"share":>6} {"one":>9} {"needed rows":>12} {"columns":>9} {"1.5D":>9} (c)')
    for r in results:
        print(f'{r["parts"]:8} {r["rows_received"]:10} {r["share"]:6.3f} {r["one_ms"]:9.3f} {r["needed_rows_ms"]:12.3f} '
              f'{r["columns_ms"]:9.3f} {r["1.5d_ms"]:9.3f} ({r["c"]})')
    return 0


if __name__ == '__main__':
    sys.exit(main())
