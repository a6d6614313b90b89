#!/usr/bin/env python3
"""Time bench/algorithms.c, compiled by hand with a built LAGraph, on graphs: processes plain and with Tessera preloaded take turns.

A row for each graph and algorithm: medians over turns of the mean call, of the first one and of the second half of the calls, by the clock
and in CPU time, plain over each mode (the first one's ratios without its name).
Algorithms that take longer than --longest seconds plain are left out, and named.  The exit status is 1 when answers differ or a process
fails.
SPDX-License-Identifier: Apache-2.0"""
import argparse
import math
import os
import re
import statistics
import subprocess
import sys

import record

SCHEMA = 'algorithms/1'
PLAIN = 'plain'
CALL = re.compile(r'^([\d.]+) ([\d.]+) (\S+)$', re.M)
ON_DEVICE = ' cuda:'  # before a kernel's name, in the summary at exit
ROUNDING = 1e-6  # of answers, sums in FP64


def run(options, graph, name, side):
    """(seconds by the clock, CPU seconds, answer) of each call of one process."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith('TESSERA_') and key != 'LD_PRELOAD'}
    environment['OMP_NUM_THREADS'] = str(options.threads)
    if side != PLAIN:
        environment.update({key: value for key, value in os.environ.items() if key.startswith('TESSERA_')},
                           LD_PRELOAD=os.path.abspath(options.library), TESSERA_MODE=side)
    if side == 'gpu':
        environment['TESSERA_VERBOSE'] = '1'  # costs each call a reading of the clock
    ran = subprocess.run([*options.before, options.program, graph, name, str(options.seconds)], env=environment, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace', timeout=options.longest * 4, check=False)
    calls = [(float(clock), float(cpu), float(answer)) for clock, cpu, answer in CALL.findall(ran.stdout)]
    if ran.returncode != 0 or not calls:
        raise RuntimeError(f'status {ran.returncode}: {ran.stderr[-200:]}')
    if side == 'gpu' and ON_DEVICE not in ran.stderr:
        raise RuntimeError('nothing ran on a GPU')
    return calls


def agree(first, second):
    return math.isclose(first, second, rel_tol=ROUNDING) or (math.isnan(first) and math.isnan(second))


def figures(processes):
    """Milliseconds: of the mean call and of the first, by the clock and in CPU time."""
    means = [[statistics.mean(call[k] for call in calls) for calls in processes] for k in (0, 1)]
    first = [[calls[0][k] for calls in processes] for k in (0, 1)]
    later = [statistics.mean(call[0] for call in calls[len(calls) // 2:]) for calls in processes]
    return {key: round(1e3 * statistics.median(values), 4)
            for key, values in (('ms', means[0]), ('cpu_ms', means[1]), ('first_ms', first[0]), ('first_cpu_ms', first[1]), ('later_ms', later))}


def ratios(row, mode, suffix):
    """Plain over a mode."""
    return {f'ratio{suffix}{key}': round(row[f'plain{key}_ms'] / max(row[f'{mode}{key}_ms'], 1e-6), 3)
            for key in ('', '_cpu', '_first_cpu', '_later')}


def measure(options, graph, name):
    row = {'graph': os.path.splitext(os.path.basename(graph))[0], 'algorithm': name, 'threads': options.threads}
    try:
        sides = (PLAIN, *options.modes)
        done = {side: [] for side in sides}
        for turn in range(options.turns):
            for side in sides if turn % 2 == 0 else sides[::-1]:
                done[side].append(run(options, graph, name, side))
    except subprocess.TimeoutExpired:
        return row | {'left_out': 'takes long'}
    except RuntimeError as error:
        return row | {'failed': str(error)}
    row['calls'] = len(done['plain'][0])
    for side in sides:
        row.update({f'{side}_{key}': value for key, value in figures(done[side]).items()})
    for mode in options.modes:
        row.update(ratios(row, mode, '' if mode == options.modes[0] else '_' + mode))
    answers = [call[2] for side in sides for calls in done[side] for call in calls]
    row['same'] = all(agree(answers[0], answer) for answer in answers)
    return row


def describe(row):
    head = f"{row['graph'][:18]:18} {row['algorithm']:24}"
    if 'ratio' not in row:
        return f"{head} {row.get('failed') or row['left_out']}"
    later = ' '.join(f"{key.removeprefix('ratio').removesuffix('later').strip('_') or 'later'} {value:.2f}" for key, value in row.items()
                     if key.endswith('_later'))
    return (f"{head} {row['plain_ms']:10.2f} ms CPU {row['ratio_cpu']:6.2f} first {row['ratio_first_cpu']:6.2f} "
            f"clock {row['ratio']:6.2f} {later} calls {row['calls']}{'' if row['same'] else ' DIFFERENT'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--program', required=True, help='algorithms, as it was compiled')
    parser.add_argument('--library', default=os.path.join(record.ROOT, 'build/src/graphblas/libtessera.so'), help='to preload')
    parser.add_argument('--graphs', nargs='+', required=True, metavar='FILE.grb', help='of bench/gap_graphs.py')
    parser.add_argument('--only', type=lambda text: text.split(','), help='algorithms, with commas; default: all')
    parser.add_argument('--modes', type=lambda text: text.split(','), default=['auto'], help='values of TESSERA_MODE beside plain, with commas')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--turns', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=.3, help='of calls in one process')
    parser.add_argument('--longest', type=float, default=5, help='a quarter of the seconds after which a process is stopped')
    parser.add_argument('--before', type=lambda text: text.split(), default=[], help='words before the command, such as "chrt -f 50"')
    parser.add_argument('--output', help='write the record here; default: bench/results/<machine>/algorithms/…')
    options = parser.parse_args()
    names = options.only or subprocess.run([options.program, 'list'], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    head = record.header(SCHEMA, turns=options.turns, seconds=options.seconds)
    path = options.output or record.place(head, 'algorithms')
    record.write(path, head, [])
    rows = []
    for graph in options.graphs:
        for name in names:
            rows.append(measure(options, graph, name))
            record.append(path, head, rows[-1])
            print(describe(rows[-1]), flush=True)
    bad = [row for row in rows if 'failed' in row or not row.get('same', True)]
    print(f"results in {path}\n{len(rows)} rows, {sum(row.get('ratio_cpu', 1) < .97 for row in rows)} below .97 in CPU time, {len(bad)} different or failed")
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
