#!/usr/bin/env python3
"""Time products of Python programs plain and through Tessera: two processes of bench/python_program.py take turns call by call.

An answer that differs makes the exit status 1.  SPDX-License-Identifier: Apache-2.0"""
import argparse
import os
import statistics
import subprocess
import sys

import record

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'python_program.py')


class Child:
    def __init__(self, options, python, extra):
        clean = {key: value for key, value in os.environ.items() if key != 'LD_PRELOAD' and not key.startswith('TESSERA_')}
        environment = dict(clean, OMP_NUM_THREADS=str(options.threads), **extra)
        self.process = subprocess.Popen([python, PROGRAM, str(options.scale), str(options.columns)], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.version, self.way, self.vertices, self.entries, *self.cases = self.process.stdout.readline().rstrip('\n').split('\t')

    def call(self, case):
        """(milliseconds, answer)"""
        print(case, file=self.process.stdin, flush=True)
        ms, answer = self.process.stdout.readline().split()
        return float(ms), answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(options, python):
    preload = {'LD_PRELOAD': os.path.abspath(options.library), 'TESSERA_MODE': 'cpu'}
    children = {'plain': Child(options, python, {}), 'tessera': Child(options, python, preload)}
    plain = children['plain']
    for case in plain.cases:
        calls = [{kind: child.call(case) for kind, child in children.items()} for _ in range(options.turns)]
        times = {kind: [round(call[kind][0], 3) for call in calls] for kind in children}
        yield {'graphblas': plain.version, 'through': plain.way, 'case': case, 'vertices': int(plain.vertices), 'entries': int(plain.entries),
               'columns': options.columns, 'threads': options.threads, 'plain_ms': times['plain'], 'tessera_ms': times['tessera'],
               'ratio': round(statistics.median(times['plain']) / statistics.median(times['tessera']), 2),
               'ratio_first': round(times['plain'][0] / times['tessera'][0], 2),
               'same': len({answer for call in calls for _, answer in call.values()}) == 1}
    for child in children.values():
        child.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--python', action='append', required=True, help='of an environment with suitesparse-graphblas; again for others')
    parser.add_argument('--library', default=os.path.join(record.ROOT, 'build/src/graphblas/libtessera.so'))
    parser.add_argument('--scale', type=int, default=15, help='of the R-MAT graph')
    parser.add_argument('--columns', type=int, default=64, help='of the dense operands')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--turns', type=int, default=9)
    parser.add_argument('--output', help='write the record here; default: bench/results/<machine>/python-products/…')
    options = parser.parse_args()
    head, rows = record.header('python-products/1', uses_gpu=False, turns=options.turns), []
    for python in options.python:
        for row in measure(options, python):
            rows.append(row)
            print(f"{row['graphblas']:10} {row['through']:16} {row['case']:10} {statistics.median(row['plain_ms']):9.2f} {statistics.median(row['tessera_ms']):9.2f} ms "
                  f"{row['ratio']:6.2f}x, first {row['ratio_first']:.2f}x{'' if row['same'] else '  DIFFERENT ANSWERS'}", flush=True)
    record.write(options.output or record.place(head, 'python-products'), head, rows)
    return 0 if all(row['same'] for row in rows) else 1


if __name__ == '__main__':
    sys.exit(main())
