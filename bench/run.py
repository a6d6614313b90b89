#!/usr/bin/env python3
"""Time GraphBLAS products with and without Tessera: two processes of the same program, one of them preloaded, take turns.

Every case opens new operands in both, makes one first call (which may build what later calls use), then timed calls in turns.
A case whose results differ makes the exit status 1.  SPDX-License-Identifier: Apache-2.0"""
import argparse
import fnmatch
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time

import grid
import record


class TooLong(Exception):
    """An answer did not come in time; the process is gone."""


class Worker:
    """One process of bench_products."""

    def __init__(self, program, graph, threads, environment):
        self.command = [program, graph] + ([str(threads)] if threads else [])
        self.environment = environment
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ready = dict(zip(*[iter(self.answer().split()[1:])] * 2))

    def answer(self, seconds=None):
        if seconds and not select.select([self.process.stdout], [], [], seconds)[0]:
            self.process.kill()
            self.process.wait()
            self.start()
            raise TooLong
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f'bench_products ended with status {self.process.wait()}')
        return line.strip()

    def ask(self, line, seconds=None):
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()
        return self.answer(seconds)

    def times(self, count, seconds=None):
        answer = self.ask(f'run {count}', seconds)
        if 'error' in answer:
            raise RuntimeError(answer)
        return [float(ms) for ms in answer.split()[1:]]

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def routes_of(workers, path):
    """One more call in every process, traced where Tessera is loaded: {route: reason}.  Timed calls are not traced."""
    traced = path and workers[-1].ask('option trace ' + path) == 'ok'
    for worker in workers:
        worker.times(1)
    if not traced:
        return {}
    workers[-1].ask('option trace ')
    with open(path, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file if line.strip()]
    os.unlink(path)
    return {line['route']: line.get('reason') for line in lines if 'route' in line}


def only_ours(spec, ours, trace, seconds):
    """A case that takes plain SuiteSparse longer than `seconds`: the ratio is a lower bound, and nothing is compared."""
    warm = statistics.median(ours.times(3))
    routes = routes_of([ours], trace)
    return {'case': spec, 'plain_ms': 1e3 * seconds, 'plain_stopped': True, 'tessera_ms': round(warm, 4), 'same': True,
            'ratio': round(1e3 * seconds / warm, 3), 'first_ratio': 0, 'routes': routes}


def measure(spec, workers, trace, turns, turn_ms, longest=None):
    """One case: first calls, then turns of warm calls; both fingerprints.  None: takes longer than `longest` seconds in both."""
    result = {'case': spec}
    for worker in workers:
        if worker.ask('open ' + spec) != 'ok':
            raise RuntimeError(f'cannot make {spec}')
    try:
        first = [workers[1].times(1, longest)[0]]
    except TooLong:
        return None
    try:
        first.insert(0, workers[0].times(1, longest)[0])
    except TooLong:
        return only_ours(spec, workers[1], trace, longest)
    warm = [[], []]
    each = [max(1, min(20, int(turn_ms / max(ms, 1e-3)))) for ms in first]
    for turn in range(turns):
        for side in ((0, 1) if turn % 2 == 0 else (1, 0)):
            warm[side] += workers[side].times(each[side])
    if 'accum' in spec:  # C depends on the number of calls
        for worker, times in zip(workers, warm):
            if len(times) < max(map(len, warm)):
                worker.times(max(map(len, warm)) - len(times))
    routes = routes_of(workers, trace)
    sums = [worker.ask('sum') for worker in workers]
    medians = [statistics.median(times) for times in warm]
    result.update(plain_first_ms=round(first[0], 4), tessera_first_ms=round(first[1], 4), plain_ms=round(medians[0], 4),
                  tessera_ms=round(medians[1], 4), best_ms=[round(min(times), 4) for times in warm], calls=[len(times) for times in warm],
                  ratio=round(medians[0] / medians[1], 3), first_ratio=round(first[0] / first[1], 3),
                  same=sums[0] == sums[1] and sums[0].startswith('sum'), entries=int(sums[0].split()[-1]),
                  routes=routes)
    if not result['same']:
        result['sums'] = sums
    return result


def environments(options):
    plain = {key: value for key, value in os.environ.items() if key != 'LD_PRELOAD'}
    first, second = (dict(plain, LD_PRELOAD=os.path.abspath(library)) if library else dict(plain)
                     for library in (options.against, options.library))
    if options.quick:  # nothing is measured: let every product that can reach our kernels reach them
        second.update(TESSERA_MODE='cpu', TESSERA_MIN_WORK='0')
    return first, second


def pick(options):
    cases = list(dict.fromkeys(grid.GRIDS['quick' if options.quick else options.grid]()))
    if options.cases:
        with open(options.cases, encoding='utf-8') as file:
            wanted = file.read().splitlines()
        cases = [spec for spec in cases if spec in wanted]
    part, parts = options.slice
    cases = cases[part::parts]
    return [spec for spec in cases if all(fnmatch.fnmatch(' ' + spec + ' ', f'* {word} *') for word in options.filter)]


def header_of(options):
    return record.header('products/1', uses_gpu=os.environ.get('TESSERA_MODE') != 'cpu', graph=options.graph, turns=options.turns,
                         library=bool(options.library), environment=record.settings(), **record.against(options.against))


def keep(options, head, ready, results):
    head.update((key, int(ready[key])) for key in ('vertices', 'entries', 'threads'))
    path = options.output or record.place(head, options.topic)
    record.write(path, head, results)
    print('results in', path)


def slice_of(text):
    part, parts = map(int, text.split('/'))
    return part, parts


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--program', default=os.path.join(record.ROOT, 'build/bench/bench_products'))
    parser.add_argument('--library', default=None, help='libtessera.so to preload; without it both processes run plain')
    parser.add_argument('--against', metavar='LIBRARY', help='preload this one in the first process: what changed since it was built')
    parser.add_argument('--graph', default=None, help='rmat:SCALE[:EDGE_FACTOR], karate or a Matrix Market file')
    parser.add_argument('--scale', type=int, default=18, help='short for --graph rmat:SCALE:16')
    parser.add_argument('--grid', choices=grid.GRIDS, default='full')
    parser.add_argument('--filter', nargs='*', default=[], help="only cases with these words, such as op=spmm 'n=1*'")
    parser.add_argument('--cases', default=None, metavar='FILE', help='only the cases in this file, one on a line as --list prints them')
    parser.add_argument('--slice', type=slice_of, default=(0, 1), metavar='K/N', help='of the cases only number K, K + N, K + 2N, …')
    parser.add_argument('--longest', type=float, default=None, help='stop a first call after so many seconds; the ratio is a bound then')
    parser.add_argument('--seconds', type=float, default=None, help='begin no case after so many seconds')
    parser.add_argument('--threads', type=int, default=0)
    parser.add_argument('--turns', type=int, default=5)
    parser.add_argument('--warm-ms', type=float, default=1500, help='time one process may spend in the warm calls of one case')
    parser.add_argument('--topic', default='products', help='the record goes to bench/results/<machine>/<topic>')
    parser.add_argument('--output', default=None, help='write the record here instead')
    parser.add_argument('--quick', action='store_true', help='a small graph and a sample of the grid; writes nothing')
    parser.add_argument('--list', action='store_true', help='print the cases')
    options = parser.parse_args(arguments)
    options.graph = options.graph or ('rmat:10:16' if options.quick else f'rmat:{options.scale}:16')
    if options.quick:
        options.turns = 1
    return options


def describe(row):
    marks = ('' if row['same'] else ' DIFFERENT') + (' at least' if 'plain_stopped' in row else '')
    return (f"{row['plain_ms']:10.3f} {row['tessera_ms']:10.3f} ms{marks} {row['ratio']:6.2f}x first {row['first_ratio']:5.2f}x"
            f" [{', '.join(row['routes'])}]")


def start_gpu(worker, cases):
    """The GPU is started when products have lost enough without it; that is not what the cases measure."""
    for spec in cases[:1]:
        worker.ask('open ' + spec)
        worker.times(20)


def run(options, cases, folder):
    workers = [Worker(options.program, options.graph, options.threads, environment) for environment in environments(options)]
    trace = os.path.join(folder, 'trace') if options.library else None
    if options.grid == 'gpu' and options.library:
        start_gpu(workers[1], cases)
    results, began = [], time.monotonic()
    for number, spec in enumerate(cases, 1):
        if options.seconds and time.monotonic() - began > options.seconds:
            print(f'stopped for time before case {number} of {len(cases)}')
            break
        result = measure(spec, workers, trace, options.turns, 0 if options.quick else options.warm_ms / options.turns,
                         options.longest)
        left = (time.monotonic() - began) / number * (len(cases) - number) / 60
        print(f'{number:4}/{len(cases)} {describe(result) if result else "too long"} {spec} {left:.0f} min left', flush=True)
        if result:
            results.append(result)
    return results, workers[0].ready, any([worker.close() for worker in workers])


def main():
    options = options_of(sys.argv[1:])
    cases = pick(options)
    if options.list:
        print('\n'.join(cases))
        return 0
    head = header_of(options)
    with tempfile.TemporaryDirectory() as folder:
        results, ready, status = run(options, cases, folder)
    different = [row['case'] for row in results if not row['same']]
    slow = [row for row in results if row['ratio'] < 0.95]
    print(f'{len(results)} cases, {len(different)} different, {len(slow)} below 0.95x')
    if not options.quick or options.output:
        keep(options, head, ready, results)
    return 1 if different or status else 0


if __name__ == '__main__':
    sys.exit(main())
