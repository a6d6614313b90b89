#!/usr/bin/env python3
"""Tables of a record of bench_gpu: GFLOP/s per matrix and kernel, geometric means against cuSPARSE, conversion times.

usage: table.py [--markdown] [--all] [--orders] [--hybrid] FILE.jsonl     (--all: every variant; otherwise the kernel's own choice only)
SPDX-License-Identifier: Apache-2.0"""
import argparse
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import record  # pylint: disable=wrong-import-position

GENERATED = ('rmat20', 'reddit', 'protein', 'ddi', 'molecules', 'products', 'fem', 'er', 'web')


def cases_of(rows):
    """Products; a later row of the same case replaces an earlier one."""
    return {(r['matrix'], r['n'], r['kernel'], r['math'], r['variant']): r for r in rows if 'gflops' in r and 'what' not in r}


def geomean(values):
    values = [v for v in values if v and v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float('nan')


class Table:
    """One width: rows are (kernel, math, variant), columns are matrices."""

    def __init__(self, cases, n, variants):
        self.cases = {key: r for key, r in cases.items() if key[1] == n and (variants or key[4] == 0)}
        self.matrices = list(dict.fromkeys(key[0] for key in self.cases))
        self.rows = list(dict.fromkeys(key[2:] for key in self.cases))
        self.n = n

    def get(self, matrix, row, field):
        r = self.cases.get((matrix, self.n) + row)
        return r[field] if r and r['ms'] > 0 else None

    def best(self, matrix, allowed):
        """Fastest of our rows whose arithmetic is allowed."""
        times = [self.get(matrix, row, 'gflops') for row in self.rows if row[0] != 'cusparse' and row[1] in allowed]
        return max((t for t in times if t), default=None)

    def ratio(self, speeds, peer):
        base = [self.get(m, ('cusparse', peer, 0), 'gflops') for m in self.matrices]
        return geomean([s / b for s, b in zip(speeds, base) if s and b])

    def speeds(self):
        """(label, GFLOP/s per matrix, ratio to cuSPARSE FP32, to cuSPARSE FP64)"""
        for row in self.rows:
            speeds = [self.get(m, row, 'gflops') for m in self.matrices]
            label = f'{row[0]} {row[1]}' + (f' v{row[2]}' if row[2] else '')
            yield label, speeds, self.ratio(speeds, 'fp32'), self.ratio(speeds, 'fp64')
        for label, allowed in (('best exact', ('exact', 'fp32')), ('best tf32', ('exact', 'fp32', 'tf32')),
                               ('best 16-bit', ('fp16', 'bf16')), ('best fp64', ('fp64',))):
            speeds = [self.best(m, allowed) for m in self.matrices]
            yield label, speeds, self.ratio(speeds, 'fp32'), self.ratio(speeds, 'fp64')

    def error(self, matrix, row):
        value = self.get(matrix, row, 'error')
        return '-' if value is None or value < 0 else f'{value:.1e}'

    def bytes_share(self, row):
        """Bytes of the representation over those of CSR with values of the same size."""
        size = {'fp64': 8, 'fp16': 2, 'bf16': 2}.get(row[1], 4)
        for matrix in self.matrices:
            r = self.cases.get((matrix, self.n) + row)
            yield r['bytes'] / (8 * r['nrows'] + (4 + size) * r['nvals']) if r and r['bytes'] else None

    def bound_share(self, row):
        """Share of the bound max(compulsory, gather) per matrix, in percent."""
        for matrix in self.matrices:
            ms = self.get(matrix, row, 'ms')
            bounds = [self.get(matrix, row, 'compulsory_ms'), self.get(matrix, row, 'gather_ms')]
            yield 100 * max(bounds) / ms if ms else None

    def products(self, row):
        """Conversion time in products of the same kernel."""
        for matrix in self.matrices:
            ms, convert = self.get(matrix, row, 'ms'), self.get(matrix, row, 'convert_ms')
            yield convert / ms if ms and convert and convert > 0 else None


def cell(value, digits):
    return '-' if value is None or value != value else f'{value:.{digits}f}'


def show(head, rows, markdown):
    if markdown:
        print('| ' + ' | '.join(head) + ' |\n|' + '---|' * len(head))
        for row in rows:
            print('| ' + ' | '.join(row) + ' |')
    else:
        width = [max(len(r[k]) for r in [head] + rows) for k in range(len(head))]
        for row in [head] + rows:
            print(row[0].ljust(width[0]) + ' ' + ' '.join(c.rjust(w) for c, w in zip(row[1:], width[1:])))
    print()


def orders(cases):
    """A line for each matrix and kernel that was run with and without `auto`: times, gain, the order's cost."""
    for (matrix, n, kernel, arithmetic, variant), with_order in sorted(cases.items()):
        plain = cases.get((matrix, n, kernel.removesuffix('+auto'), arithmetic, variant))
        if kernel.endswith('+auto') and plain and plain['ms'] > 0 and with_order['ms'] > 0:
            by_csr = cases.get((matrix, n, 'csr', 'fp32', 0), {'ms': -1})['ms']
            yield [matrix, str(n), kernel.removesuffix('+auto'), cell(by_csr, 3), cell(plain['ms'], 3), cell(with_order['ms'], 3),
                   cell(plain['ms'] / with_order['ms'], 2), cell(with_order['order_ms'], 2), cell(with_order['convert_ms'], 2)]


def hybrids(cases):
    """A line for each product that `hybrid` split: its time, and what it gains over the fastest kernel that takes all windows."""
    for (matrix, n, kernel, arithmetic, variant), r in sorted(cases.items()):
        same = {'exact': ('exact', 'fp32')}.get(arithmetic, (arithmetic,))
        others = [(other['ms'], key[2]) for key, other in cases.items() if key[:2] == (matrix, n) and key[3] in same and key[4] == 0 and
                  key[2] not in ('hybrid', 'cusparse') and other['ms'] > 0]
        if kernel == 'hybrid' and variant == 0 and r['ms'] > 0 and others:
            least, name = min(others)
            yield [matrix, str(n), arithmetic, cell(r['ms'], 3), name, cell(least, 3), cell(least / r['ms'], 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('file')
    parser.add_argument('--markdown', action='store_true')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--best', action='store_true', help="cuSPARSE and the best of our kernels only")
    parser.add_argument('--generated', action='store_true', help='without the matrices that came from files')
    parser.add_argument('--n', type=int, help='one width only')
    parser.add_argument('--orders', action='store_true', help='what the row order of auto gains, where it makes one')
    parser.add_argument('--hybrid', action='store_true', help='what the choice by windows gains over one kernel for all')
    parser.add_argument('--details', action='store_true', help='share of the bound, errors and conversions too')
    options = parser.parse_args()
    head, rows = record.read(options.file)
    cases = {key: r for key, r in cases_of(rows).items() if not options.generated or key[0] in GENERATED}
    print(', '.join(str(head[key]) for key in ('device', 'driver', 'date', 'commit')) + '\n')
    if options.orders:
        show(['ms', 'N', 'kernel', 'csr', 'none', 'auto', 'gain', 'order', 'conversion'], list(orders(cases)), options.markdown)
        return
    if options.hybrid:
        show(['ms', 'N', 'arithmetic', 'hybrid', 'fastest other', 'its ms', 'gain'], list(hybrids(cases)), options.markdown)
        return
    for n in sorted({key[1] for key in cases} if options.n is None else {options.n}):
        table = Table(cases, n, options.all)
        head = [f'GFLOP/s, N = {n}'] + table.matrices + ['/cs32', '/cs64']
        show(head, [[label] + [cell(s, 0) for s in speeds] + [cell(r32, 2), cell(r64, 2)]
                    for label, speeds, r32, r64 in table.speeds() if not options.best or label.startswith(('best', 'cusparse'))],
             options.markdown)
        if not options.details:
            continue
        ours = [row for row in table.rows if row[0] != 'cusparse']
        name = [f'{row[0]} {row[1]}' + (f' v{row[2]}' if row[2] else '') for row in ours]
        show([f'% of bound, N = {n}'] + table.matrices,
             [[label] + [cell(v, 0) for v in table.bound_share(row)] for label, row in zip(name, ours)], options.markdown)
        show(['conversion in products'] + table.matrices,
             [[label] + [cell(v, 1) for v in table.products(row)] for label, row in zip(name, ours)], options.markdown)
        show(['bytes / CSR'] + table.matrices,
             [[label] + [cell(v, 2) for v in table.bytes_share(row)] for label, row in zip(name, ours)], options.markdown)
        show(['error'] + table.matrices,
             [[f'{row[0]} {row[1]}'] + [table.error(m, row) for m in table.matrices] for row in table.rows],
             options.markdown)
    bad = [key for key, r in cases.items() if not r['same_bits'] or (r['ms'] < 0 and r['kernel'] != 'cusparse')]
    for key in bad:
        print('NOT GOOD:', *key, cases[key]['note'] or 'different bits in repeats')


if __name__ == '__main__':
    main()
