#!/usr/bin/env python3
"""Turn a record of bench/run.py into Markdown.

usage: table.py RECORD.jsonl [--all | --below RATIO | --summary]     SPDX-License-Identifier: Apache-2.0"""
import argparse
import statistics

import grid
import record

NAMES = {'lut': "triangle count, C<L> = L U'", 'ult': "triangle count, C<U> = U L'", 'll': 'triangle count, C<L> = L L',
         'uu': 'triangle count, C<U> = U U', 'burkhardt': 'triangle count, C<A> = A A',
         'cohen': 'triangle count, C<A> = L U', 'ktruss': "k-truss support, C<A> = A A'"}
TYPES = {'fp32': 'FP32', 'fp64': 'FP64'}


def keys_of(case):
    return dict(word.split('=') for word in case.split())


def describe(case):
    """A case in words; what is usual is left out."""
    k = keys_of(case)
    kind, semiring = TYPES.get(k['type'], k['type']), f"{k['add']}_{k['mul']}"
    if k['op'] == 'masked':
        order = ', vertices by ascending degree' if k.get('order') == 'degree' else ''
        end = ', then summed up' if k.get('finish') == 'reduce' else ''
        first = ', operands new' if k.get('first') == 'yes' else ''
        return f"{NAMES[k['form']]}, {semiring} {kind}{order}{end}{first}"
    names = {'spmm': 'sparse × dense', 'dspmm': 'dense × sparse', 'sddmm': "SDDMM, C<A> = X Y'", 'mxv': 'mxv', 'vxm': 'vxm'}
    if k['op'] == 'mxv' and k.get('finish') == 'accum' and semiring == 'plus_second':
        names['mxv'] = "PageRank's mxv, y += A x"
    width = '' if k['op'] in ('mxv', 'vxm') else f" N={k['n']}"
    usual = {'op', 'add', 'mul', 'type', 'n', 'form', 'order'}
    extra = ' '.join(f'{key}={value}' for key, value in k.items() if key not in usual)
    return f"{names[k['op']]}, {semiring} {kind}{width}" + (f' ({extra})' if extra else '')


def row(result):
    route = ', '.join(result['routes']) or '–'
    first = f"{result['tessera_first_ms']:.2f}" if 'tessera_first_ms' in result else '–'
    return (f"| {describe(result['case'])} | {result['plain_ms']:.2f} | {result['tessera_ms']:.2f} | {result['ratio']:.2f} | "
            f"{first} | {route} |")


def is_forwarded(result):
    """The call that is traced may try the other route (docs/routing.md); what was fast where SuiteSparse was stopped was ours."""
    return list(result['routes']) == ['suitesparse'] and 'plain_stopped' not in result


def summary(cases):
    """A row for each kind of product: cases, those routed to us, their ratios; those that SuiteSparse computes on both sides."""
    print('| product | cases | routed | geometric mean | lowest | below 0.95 | forwarded | geometric mean | lowest |\n|---|' + '---:|' * 8)
    for op in [*dict.fromkeys(keys_of(result['case'])['op'] for result in cases), None]:
        some = [result for result in cases if op in (None, keys_of(result['case'])['op'])]
        ratios = [[r['ratio'] for r in some if is_forwarded(r) == forwarded] for forwarded in (False, True)]
        means = [f'{statistics.geometric_mean(r):.2f} | {min(r):.2f}' if r else '– | –' for r in ratios]
        print(f"| {op or 'all'} | {len(some)} | {len(ratios[0])} | {means[0]} | {sum(r < 0.95 for r in ratios[0])} | {len(ratios[1])} | {means[1]} |")


def main():
    parser = argparse.ArgumentParser(description='Markdown table of benchmark results')
    parser.add_argument('record')
    parser.add_argument('--all', action='store_true', help='every case, not only the rows of the README')
    parser.add_argument('--summary', action='store_true', help='one row for each kind of product')
    parser.add_argument('--below', type=float, help='only cases with a smaller ratio')
    options = parser.parse_args()
    head, cases = record.read(options.record)
    if options.below:
        cases = [result for result in cases if result['ratio'] < options.below]
    elif not options.all and not options.summary:
        by_case = {result['case']: result for result in cases}
        cases = [by_case[spec] for spec in grid.headline() if spec in by_case]
    vectors = ', '.join(head['cpu'].get('vectors', []))
    print(f"{head['graph']} ({head['vertices']:,} vertices, {head['entries']:,} entries), {head['threads']} threads of "
          f"{head['cpu']['name']} ({vectors}), {head['date'][:10]}, commit {head['commit']}\n")
    if options.summary:
        summary(cases)
        return
    print(f"| product | {' | '.join(f'{name} ms' for name in record.sides(head))} | ratio | first call ms | route |\n|---|---:|---:|---:|---:|---|")
    print('\n'.join(row(result) for result in cases))


if __name__ == '__main__':
    main()
