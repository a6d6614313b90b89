#!/usr/bin/env python3
"""Sparse times sparse, plain SuiteSparse and Tessera in turns: one process of bench_spgemm each, several calls a process.

One row a case: medians over all calls of the time, of the processor time and of the GrB_wait that follows (it sorts what is jumbled); the first
call's, and the later ones'; the most memory.  `ratio` is of times, `cpu_ratio` of processor times, which other programs on the machine disturb
less, `first_ratio` of the first call's processor times; with a GPU (--mode auto, gpu) `first_ms_ratio` and `later_ms_ratio` of times are what
counts: the first call of a process starts CUDA if it comes to that.  `sorted_ratio` and `first_sorted_ratio` are of times of later calls and of
the first with that of the GrB_wait.  A difference of entries or sums makes the exit status 1.  SPDX-License-Identifier: Apache-2.0"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys

import record


def measure(options, case, mode):
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads))
    if mode:
        environment.update(LD_PRELOAD=options.library, TESSERA_MODE=mode)
    command = [options.program, case, str(options.threads), str(options.calls)] + ['arrays'] * options.arrays
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f'{case}: {done.stderr.strip()}')
    return json.loads(done.stdout)


def median(runs, key, part=slice(None)):
    return statistics.median(value for run in runs for value in run[key][part])


LATER, FIRST = slice(1, None), slice(1)


def with_wait(runs, part):
    """Elapsed ms until C is sorted."""
    calls = [ms + wait for run in runs for ms, wait in zip(run['ms'][part], run['wait_elapsed_ms'][part])]
    return round(statistics.median(calls), 3)


def side(runs):
    later = LATER if len(runs[0]['ms']) > 1 else slice(None)
    return {'ms': round(median(runs, 'ms'), 3), 'cpu_ms': round(median(runs, 'cpu_ms'), 3), 'wait_ms': round(median(runs, 'wait_ms'), 3),
            'first_cpu_ms': round(median(runs, 'cpu_ms', FIRST), 3), 'first_ms': round(median(runs, 'ms', FIRST), 3),
            'later_ms': round(median(runs, 'ms', later), 3), 'sorted_ms': with_wait(runs, later), 'first_sorted_ms': with_wait(runs, FIRST),
            'peak_mb': max(run['peak_mb'] for run in runs)}


def compare(options, case, mode, plain_runs, runs):
    plain, tessera = side(plain_runs), side(runs)
    sums = [run['sum'] for run in plain_runs + runs]
    same = len({run['entries'] for run in plain_runs + runs}) == 1 and max(sums) - min(sums) <= 1e-9 * abs(sums[0])
    name = os.path.basename(case).replace('.mtx.gz', '')
    return {'case': name, 'mode': mode, 'threads': options.threads, 'entries_a': runs[0]['entries_a'], 'entries': runs[0]['entries'],
            'plain': plain, 'tessera': tessera, 'ratio': round(plain['ms'] / tessera['ms'], 3),
            'cpu_ratio': round(plain['cpu_ms'] / tessera['cpu_ms'], 3),
            'first_ratio': round(plain['first_cpu_ms'] / tessera['first_cpu_ms'], 3),
            'first_ms_ratio': round(plain['first_ms'] / tessera['first_ms'], 3),
            'later_ms_ratio': round(plain['later_ms'] / tessera['later_ms'], 3),
            'sorted_ratio': round(plain['sorted_ms'] / tessera['sorted_ms'], 3),
            'first_sorted_ratio': round(plain['first_sorted_ms'] / tessera['first_sorted_ms'], 3), 'same': same}


def one_case(options, case):
    """A row for each mode; the modes and plain take turns."""
    modes = options.mode.split(',')
    runs = {mode: [] for mode in ['', *modes]}
    for _ in range(options.turns):
        for mode, done in runs.items():
            done.append(measure(options, case, mode))
    return [compare(options, case, mode, runs[''], runs[mode]) for mode in modes]


def table(path):
    """A record as Markdown: processor times, which other programs on the machine disturb least."""
    head, rows = record.read(path)
    if any(row.get('mode', 'cpu') != 'cpu' or row['threads'] > 2 for row in rows):
        return elapsed_table(head, rows)
    print('| threads | product | entries of C | SuiteSparse, CPU ms | Tessera, CPU ms | ratio | of the first call | of elapsed times | '
          'GrB_wait afterwards | peak MB |\n|---|---|---|---|---|---|---|---|---|---|')
    for row in rows:
        plain, tessera = row['plain'], row['tessera']
        print(f"| {row['threads']} | {row['case']} | {row['entries']:,} | {plain['cpu_ms']:.1f} | {tessera['cpu_ms']:.1f} | {row['cpu_ratio']:.2f} | "
              f"{row['first_ratio']:.2f} | {row['ratio']:.2f} | {plain['wait_ms']:.1f}, {tessera['wait_ms']:.1f} | "
              f"{plain['peak_mb']:.0f}, {tessera['peak_mb']:.0f} |")
    for threads in sorted({row['threads'] for row in rows}):
        of = [row for row in rows if row['threads'] == threads]
        means = [math.exp(statistics.fmean(math.log(row[key]) for row in of)) for key in ('cpu_ratio', 'first_ratio', 'ratio')]
        print(f'| {threads} | geometric mean | | | | {means[0]:.2f} | {means[1]:.2f} | {means[2]:.2f} | | |')
    print(f"\n{head['cpu']['cores']} cores of {head['cpu']['name']}.")


def elapsed_table(head, rows):
    """Elapsed times; until C is sorted, in the last columns."""
    keys = ['later_ms_ratio', 'first_ms_ratio'] + (['sorted_ratio', 'first_sorted_ratio'] if 'sorted_ratio' in rows[0] else [])
    print('| mode | product | entries of A | entries of C | SuiteSparse, ms | Tessera, ms | ratio | of the first call |'
          + (' with GrB_wait | of the first call |' if len(keys) > 2 else '') + '\n|---|---|---|---|---|---' + '|---' * len(keys) + '|')
    for row in sorted(rows, key=lambda row: row['mode']):
        print(f"| {row['mode']} | {row['case']} | {row['entries_a']:,} | {row['entries']:,} | {row['plain']['later_ms']:.1f} | "
              f"{row['tessera']['later_ms']:.1f} | " + ' | '.join(f'{row[key]:.2f}' for key in keys) + ' |')
    for mode in sorted({row['mode'] for row in rows}):
        of = [row for row in rows if row['mode'] == mode]
        means = [math.exp(statistics.fmean(math.log(row[key]) for row in of)) for key in keys]
        print(f'| {mode} | geometric mean | | | | | ' + ' | '.join(f'{mean:.2f}' for mean in means) + ' |')
    print(f"\n{head['device']} beside {head['cpu']['cores']} cores of {head['cpu']['name']}, {rows[0]['threads']} threads.")


def main():
    if sys.argv[1:2] == ['--markdown']:
        return table(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--program', required=True)
    parser.add_argument('--library', required=True)
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--mode', default='cpu', help='of Tessera: cpu, gpu, auto, or several with commas between')
    parser.add_argument('--calls', type=int, default=3, help='of a process')
    parser.add_argument('--turns', type=int, default=2)
    parser.add_argument('--arrays', action='store_true', help='the time ends when the program has the arrays of C')
    parser.add_argument('--output')
    parser.add_argument('cases', nargs='+')
    options = parser.parse_args()
    head, rows = record.header('spgemm/1', uses_gpu=options.mode != 'cpu', arrays=options.arrays), []
    for case in options.cases:
        rows += one_case(options, case)
        print(json.dumps(rows[-1]), flush=True)
        record.write(options.output or record.place(head, 'spgemm'), head, rows)
    return 0 if all(row['same'] for row in rows) else 1


if __name__ == '__main__':
    sys.exit(main())
