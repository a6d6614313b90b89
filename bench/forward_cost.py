#!/usr/bin/env python3
"""What forwarding costs: nanoseconds per call plain and with the library preloaded, of programs linked with one GraphBLAS each.

A call that costs more than --most makes the exit status 1.  SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import subprocess
import sys

import record

FEWEST_ROUNDS, MOST_ROUNDS = 3, 10  # a busy machine only ever adds time: more rounds until the limit is kept
KINDS = ('plain', 'forwarded', 'table')


def run_once(best, command, environment):
    """Lower the times in `best` by one run; which GraphBLAS it was."""
    text = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    version, *lines = text.splitlines()
    for line in lines:
        name, time = line.split()
        best[name] = min(float(time), best.get(name, 1e30))
    return version


def most_added(columns):
    return max(columns[kind][name] - time for kind in KINDS[1:] for name, time in columns['plain'].items())


def measure(program, library, limit):
    clean = {k: v for k, v in os.environ.items() if not k.startswith('TESSERA_') and k != 'LD_PRELOAD'}
    preloaded = dict(clean, LD_PRELOAD=library, TESSERA_MODE='cpu')
    runs = {'plain': ([program], clean), 'forwarded': ([program], preloaded), 'table': ([program, 'table'], preloaded)}
    columns = {kind: {} for kind in KINDS}
    for done in range(MOST_ROUNDS):
        if done >= FEWEST_ROUNDS and most_added(columns) <= limit:
            break
        for kind, (command, environment) in runs.items():
            version = run_once(columns[kind], command, environment)
    return version, columns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('library')
    parser.add_argument('programs', nargs='+', help='bench/forward_cost.c, linked with the GraphBLAS to measure')
    parser.add_argument('--most', type=float, default=10.0, help='ns that a call may cost more')
    parser.add_argument('--output', help="write a record here; 'keep': bench/results/<machine>/forward-cost/…")
    options = parser.parse_args()
    head, rows, worst = record.header('forward-cost/1', uses_gpu=False), [], 0.0
    for program in options.programs:
        version, columns = measure(program, os.path.abspath(options.library), options.most)
        print('%-34s %8s %10s %18s   ns per call' % (version, 'plain', 'forwarded', 'with a side table'))
        for name in columns['plain']:
            row = {kind: columns[kind][name] for kind in KINDS}
            print('%-34s %8.2f %10.2f %18.2f' % (name, *row.values()))
            rows.append({'graphblas': version, 'call': name, **row})
        worst = max(worst, most_added(columns))
        print('most added: %.2f ns (limit %.0f)' % (most_added(columns), options.most))
    if options.output:
        record.write(record.place(head, 'forward-cost') if options.output == 'keep' else options.output, head, rows)
    return 1 if worst > options.most else 0


if __name__ == '__main__':
    sys.exit(main())
