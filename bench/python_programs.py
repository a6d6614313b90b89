#!/usr/bin/env python3
"""Time whole Python programs (bench/python_users.py) plain and through Tessera: processes take turns, each for all programs.

Answers are compared with those of all that we can compute forced to the CPU as well; one that differs makes the exit status 1.  Beside the
time stands that of all threads, which a busy machine changes less.  SPDX-License-Identifier: Apache-2.0"""
import argparse
import os
import statistics
import subprocess
import sys

import record

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'python_users.py')
VERSION = 'import suitesparse_graphblas as s; print(s.__version__)'
PLAIN, OURS, FORCED = 'plain', 'tessera', 'forced'


def environment(options, kind):
    clean = {key: value for key, value in os.environ.items() if key != 'LD_PRELOAD' and not key.startswith('TESSERA_')}
    clean.update(OMP_NUM_THREADS=str(options.threads))
    if kind != PLAIN:
        clean['LD_PRELOAD'] = os.path.abspath(options.library)
    if kind == FORCED:
        clean.update(TESSERA_MODE='cpu', TESSERA_MIN_WORK='0')
    return clean


def run(options, python, kind):
    """Of each program (milliseconds, those of all threads, answers)."""
    command = [python, PROGRAM, str(options.scale), *options.only]
    done = subprocess.run(command, env=environment(options, kind), stdout=subprocess.PIPE, text=True, check=True)
    rows = [line.split('\t') for line in done.stdout.splitlines()]
    return {name: (float(ms), float(cpu), answers) for name, ms, cpu, answers in rows}


def ratio(plain, ours):
    return round(statistics.median(plain) / statistics.median(ours), 3)


def row_of(name, turns, forced):
    """Of one program, or of all together (name: None)."""
    names = list(forced) if name is None else [name]
    times = {kind: [[round(sum(turn[kind][n][field] for n in names), 1) for turn in turns] for field in (0, 1)] for kind in (PLAIN, OURS)}
    answers = {tuple(turn[kind][n][2] for n in names) for turn in turns for kind in turn} | {tuple(forced[n][2] for n in names)}
    return {'program': name or 'all', 'plain_ms': times[PLAIN][0], 'tessera_ms': times[OURS][0], 'plain_cpu_ms': times[PLAIN][1],
            'tessera_cpu_ms': times[OURS][1], 'ratio': ratio(times[PLAIN][0], times[OURS][0]),
            'ratio_cpu': ratio(times[PLAIN][1], times[OURS][1]), 'same': len(answers) == 1}


def measure(options, python):
    version = subprocess.run([python, '-c', VERSION], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    turns = [{kind: run(options, python, kind) for kind in (PLAIN, OURS)} for _ in range(options.turns)]
    forced = run(options, python, FORCED)
    for name in [*forced, None]:
        yield {'graphblas': version, 'scale': options.scale, 'threads': options.threads, **row_of(name, turns, forced)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--python', action='append', required=True, help='of an environment with python-graphblas; again for others')
    parser.add_argument('--library', default=os.path.join(record.ROOT, 'build/src/graphblas/libtessera.so'))
    parser.add_argument('--scale', type=int, default=14, help='of the R-MAT graph')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--turns', type=int, default=5)
    parser.add_argument('--only', nargs='*', default=[], help='programs')
    parser.add_argument('--output', help='write the record here; default: bench/results/<machine>/python-programs/…')
    options = parser.parse_args()
    head, rows = record.header('python-programs/1', uses_gpu=False, turns=options.turns), []
    for python in options.python:
        for row in measure(options, python):
            rows.append(row)
            print(f"{row['graphblas']:10} {row['program']:15} {statistics.median(row['plain_ms']):9.1f} {statistics.median(row['tessera_ms']):9.1f} ms "
                  f"{row['ratio']:6.2f}x, all threads {row['ratio_cpu']:.2f}x{'' if row['same'] else '  DIFFERENT ANSWERS'}", flush=True)
    record.write(options.output or record.place(head, 'python-programs'), head, rows)
    return 0 if all(row['same'] for row in rows) else 1


if __name__ == '__main__':
    sys.exit(main())
