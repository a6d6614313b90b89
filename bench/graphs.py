#!/usr/bin/env python3
"""Masked products as LAGraph asks for them, on many graphs: plain SuiteSparse and Tessera take turns, and every repeat of Tessera's must
have the entries of SuiteSparse.

One line a graph: ratios of medians without the first call ("warm") and of all calls together, the lowest and the geometric mean over the
forms.  A difference makes the exit status 1.  SPDX-License-Identifier: Apache-2.0"""
import argparse
import math
import os
import statistics
import sys

import grid
import record
import run


def one_form(spec, workers, options):
    """Calls in turns; plain ones stop at the budget, their first fingerprint is what all of Tessera's must be."""
    repeats = options.repeats
    for worker in workers:
        if worker.ask('open ' + spec) != 'ok':
            raise RuntimeError(f'cannot make {spec}')
    times, wanted, different = [[], []], None, 0
    for k in range(repeats):
        if k < options.least or sum(times[0]) < options.budget:
            times[0] += workers[0].times(1)
            wanted = wanted or workers[0].ask('sum')
        times[1] += workers[1].times(1)
        different += workers[1].ask('sum') != wanted
    warm = [statistics.median(side[1:] or side) for side in times]
    plain_total = sum(times[0]) + (repeats - len(times[0])) * warm[0]
    return {'case': spec, 'plain_ms': round(warm[0], 4), 'tessera_ms': round(warm[1], 4), 'first_ms': [round(side[0], 4) for side in times],
            'ratio': round(warm[0] / warm[1], 3), 'total_ratio': round(plain_total / sum(times[1]), 3), 'repeats': repeats,
            'different': different, 'entries': int(wanted.split()[-1])}


def one_graph(graph, options, trace):
    plain, tessera = run.environments(options)
    workers = []
    try:
        for environment in (plain, tessera):
            workers.append(run.Worker(options.program, graph, options.threads, environment))
        rows = []
        for spec in grid.graphs():
            if options.forms and not any(f'form={form}' in spec.split() for form in options.forms.split(',')):
                continue
            row = one_form(spec, workers, options)
            row['routes'] = run.routes_of(workers[1:], trace)
            rows.append(row)
        return {'graph': os.path.basename(graph), 'vertices': int(workers[0].ready['vertices']),
                'entries': int(workers[0].ready['entries']), 'threads': int(workers[0].ready['threads']), 'forms': rows}
    finally:
        for worker in workers:
            worker.close()


def describe(graph):
    forms = graph['forms']

    def lowest(key):
        row = min(forms, key=lambda form: form[key])
        keys = dict(word.split('=') for word in row['case'].split())
        mean = math.exp(statistics.mean(math.log(form[key]) for form in forms))
        return f"{row[key]:7.2f} ({keys['form']} {keys['type']}) mean {mean:7.2f}"

    routes = sorted({route for form in forms for route in form['routes']})
    different = sum(form['different'] for form in forms)
    return (f"{graph['graph'][:28]:28} {graph['vertices']:9} {graph['entries']:10} warm {lowest('ratio')} total {lowest('total_ratio')} "
            f"different {different} {','.join(routes)}")


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('graphs', nargs='+', help='rmat:SCALE[:EDGE_FACTOR], karate or Matrix Market files')
    parser.add_argument('--program', default=os.path.join(record.ROOT, 'build/bench/bench_products'))
    parser.add_argument('--library', required=True, help='libtessera.so to preload')
    parser.add_argument('--threads', type=int, default=0)
    parser.add_argument('--repeats', type=int, default=20)
    parser.add_argument('--forms', help='only these, separated by commas')
    parser.add_argument('--least', type=int, default=3, help='plain calls of one form at least')
    parser.add_argument('--budget', type=float, default=3000, help='ms that plain calls of one form may take, after these')
    parser.add_argument('--output', help='add to this record')
    options = parser.parse_args(arguments)
    options.quick = False
    return options


def main():
    options = options_of(sys.argv[1:])
    trace = f'{options.output or "graphs"}.{os.getpid()}.trace'
    head, different = record.header('graphs/1', mode=os.environ.get('TESSERA_MODE', 'auto')), 0
    for graph in options.graphs:
        try:
            row = one_graph(graph, options, trace)
        except RuntimeError as error:
            print(f'{os.path.basename(graph)}: {error}', flush=True)
            continue
        different += sum(form['different'] for form in row['forms'])
        print(describe(row), flush=True)
        if options.output:
            record.append(options.output, head, row)
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main())
