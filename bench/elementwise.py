#!/usr/bin/env python3
"""Time elementwise calls on full and bitmap matrices plain and with Tessera preloaded, whose kernels take them or leave them to
SuiteSparse: processes take turns, the least times count.

SPDX-License-Identifier: Apache-2.0"""
import argparse
import os
import subprocess
import sys

import record



def run(options, size, threads, extra):
    """Milliseconds by call."""
    environment = {key: value for key, value in os.environ.items() if key != 'LD_PRELOAD' and not key.startswith('TESSERA_')}
    done = subprocess.run([options.program, *map(str, size), str(threads)], env=dict(environment, **extra), check=True,
                          capture_output=True, text=True)
    return {line[:28].strip(): float(line[28:]) for line in done.stdout.splitlines()}


def measure(options, size, threads):
    preload = {'LD_PRELOAD': os.path.abspath(options.library)}
    plain = {'LD_PRELOAD': os.path.abspath(options.against)} if options.against else {}
    kinds = {'plain': plain, 'forwarded': dict(preload, TESSERA_DISABLE='elementwise'), 'tessera': preload}
    best = {}
    for _ in range(options.rounds):
        for kind, extra in kinds.items():
            for call, time in run(options, size, threads, extra).items():
                times = best.setdefault(call, {})
                times[kind] = min(time, times.get(kind, time))
    return [dict(call=call, rows=size[0], columns=size[1], threads=threads, **times) for call, times in best.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--program', default=os.path.join(record.ROOT, 'build/bench/elementwise'))
    parser.add_argument('--library', default=os.path.join(record.ROOT, 'build/src/graphblas/libtessera.so'))
    parser.add_argument('--against', metavar='LIBRARY', help='preload this one instead of running plain: what changed since it was built')
    parser.add_argument('--threads', type=lambda text: [int(n) for n in text.split(',')], default=[1, 2])
    parser.add_argument('--sizes', type=lambda text: [tuple(map(int, size.split('x'))) for size in text.split(',')],
                        default=[(131072, 64), (131072, 1), (16384, 1)], help='ROWSxCOLUMNS, with commas')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--topic', default='elementwise', help='of the record: what the program measures')
    parser.add_argument('--output', help='write the record here; default: bench/results/<machine>/<topic>/…')
    options = parser.parse_args()
    head, rows = record.header(options.topic + '/1', uses_gpu=False, rounds=options.rounds, environment=record.settings(), **record.against(options.against)), []
    for size in options.sizes:
        for threads in options.threads:
            print(f'{size[0]} x {size[1]}, {threads} threads: ms plain, forwarded, computed')
            for row in measure(options, size, threads):
                rows.append(row)
                ratio = min(row['plain'], row['forwarded']) / row['tessera']
                print(f"  {row['call']:26} {row['plain']:9.4f} {row['forwarded']:9.4f} {row['tessera']:9.4f} {ratio:6.2f}x", flush=True)
    record.write(options.output or record.place(head, options.topic), head, rows)
    return 0


if __name__ == '__main__':
    sys.exit(main())
