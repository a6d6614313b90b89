#!/usr/bin/env python3
"""Tables of a record of bench_spgemm: ours beside cuSPARSE; or what is chosen (--tiles price) beside rows (never).

usage: spgemm_table.py [--tiles] RECORD     SPDX-License-Identifier: Apache-2.0"""
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import record  # noqa: E402  pylint: disable=wrong-import-position

ALGORITHMS = ('ALG1', 'ALG2', 'ALG3')


def flops(row, field='ms'):
    """GFLOP/s, two for a product; 0: it failed or was wrong."""
    return 2e-6 * row['products'] / row[field] if row and row['right'] and row[field] > 0 else 0


def best_of(rows, what):
    found = [row for row in (rows.get(name) for name in what) if flops(row)]
    return max(found, key=flops) if found else None


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0


def cell(value, digits=3):
    return f'{value:.{digits}g}' if value else 'failed'


def c_bytes(row):
    return row['nvals'] * (12 if row['type'] in ('fp64', 'int8') else 8)


def print_tiles(by_product):
    kinds = ('fp64', 'fp32', 'tf32', 'int8')
    print('| | products, M | C, M | ' + ' | '.join(f'{name}, ms | | ratio' for name in ('FP64', 'FP32', 'TF32', 'integers')) + ' | memory |')
    print('|---' * (4 + 3 * len(kinds)) + '|')
    for name, types in by_product.items():
        if not all('rows' in types.get(kind, {}) for kind in kinds):
            continue
        pairs = [(types[kind]['rows'], types[kind]['ours']) for kind in kinds]
        times = [f"{rows['ms']:.3g} | {ours['ms']:.3g} | {rows['ms'] / ours['ms']:.2f}" if rows['right'] and ours['right'] else 'wrong | |' for rows, ours in pairs]
        ours = types['fp64']['ours']
        print(f"| {name} | {ours['products'] / 1e6:.3g} | {ours['nvals'] / 1e6:.3g} | {' | '.join(times)} | {ours['peak'] / c_bytes(ours):.2f} |")


def main():
    tiles, path = sys.argv[1] == '--tiles', sys.argv[-1]
    by_product = {}
    for row in record.read(path)[1]:
        if not row.get('share'):
            by_product.setdefault(row['product'], {}).setdefault(row['type'], {})[row['what']] = row
    if tiles:
        print_tiles(by_product)
        return
    print('| | products, M | C, M | Tessera FP64 | cuSPARSE | ratio | values only | reuse | memory | cuSPARSE | FP32 ratio | int32 plus_pair ratio |')
    print('|---|---|---|---|---|---|---|---|---|---|---|---|')
    ratios = {'fp64': [], 'fp32': [], 'pair': []}
    for name, types in by_product.items():
        if 'fp64' not in types:
            continue
        ours, peer = types['fp64']['ours'], best_of(types['fp64'], ALGORITHMS)
        peer32 = best_of(types.get('fp32', {}), ALGORITHMS)
        shown = {}
        for kind, other in (('fp64', peer), ('fp32', peer32), ('pair', peer32)):
            mine = types.get(kind, {}).get('ours')
            if flops(mine) and other:
                shown[kind] = flops(mine) / flops(other)
                ratios[kind].append(shown[kind])
        print(f"| {name} | {ours['products'] / 1e6:.3g} | {ours['nvals'] / 1e6:.3g} | {cell(flops(ours))} | {cell(flops(peer))} "
              f"{peer['what'] if peer else ''} | {shown.get('fp64', 0):.2f} | {cell(flops(ours, 'numeric_ms'))} | "
              f"{cell(flops(types['fp64'].get('reuse'), 'numeric_ms'))} | {ours['peak'] / c_bytes(ours):.2f} | "
              f"{peer['peak'] / c_bytes(ours) if peer else 0:.2f} | {shown.get('fp32', 0):.2f} | {shown.get('pair', 0):.2f} |")
    print(f"| geometric mean | | | | | {mean(ratios['fp64']):.2f} | | | | | {mean(ratios['fp32']):.2f} | {mean(ratios['pair']):.2f} |")


if __name__ == '__main__':
    main()
