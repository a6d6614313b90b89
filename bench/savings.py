#!/usr/bin/env python3
"""How good is "about … saved"?  Programs plain, through `tessera run`, and through it with the estimate, in turns.

usage: savings.py --programs build/examples --tessera build/tools/tessera [--turns 3] [--output RECORD] CASE…     CASE: program@graph
SPDX-License-Identifier: Apache-2.0"""
import argparse
import os
import re
import statistics
import subprocess

import record


def ms_of(options, program, graph, launcher):
    """Time of all steps, and what was said at the end."""
    done = subprocess.run([*launcher, os.path.join(options.programs, program), *(['--cpu-time'] if options.cpu_time else []), graph], capture_output=True, text=True, check=True)
    return sum(float(line.split()[2]) for line in done.stdout.splitlines() if line.startswith('step')), done.stderr


def saved(text):
    """ms, of the line at exit."""
    found = re.search(r'about ([\d.]+) (ms|s) saved', text)
    return float(found[1]) * (1000 if found[2] == 's' else 1) if found else 0.0


def measure(options, case):
    program, graph = case.split('@')
    plain, ours, estimated = [], [], []
    for _ in range(options.turns):
        plain.append(ms_of(options, program, graph, [])[0])
        ours.append(ms_of(options, program, graph, [options.tessera, 'run', '--'])[0])
        estimated.append(saved(ms_of(options, program, graph, [options.tessera, 'run', '--savings=1', '--'])[1]))
    real, said = (statistics.median(a - b for a, b in zip(plain, ours)), statistics.median(estimated))
    return {'program': program, 'graph': os.path.basename(graph), 'plain_ms': round(statistics.median(plain), 2),
            'tessera_ms': round(statistics.median(ours), 2), 'saved_ms': round(real, 2), 'estimated_ms': said, 'error': round(said / real - 1, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--programs', default='build/examples')
    parser.add_argument('--tessera', default='build/tools/tessera')
    parser.add_argument('--turns', type=int, default=3)
    parser.add_argument('--cpu-time', action='store_true', help='plain and ours by CPU time (a busy machine; one thread)')
    parser.add_argument('--output')
    parser.add_argument('cases', nargs='+', metavar='program@graph')
    options = parser.parse_args()
    head, rows = record.header('savings/1', uses_gpu=False, threads=os.environ.get('OMP_NUM_THREADS')), []
    head['command'] = re.sub(r'@\S*/', '@', head['command'])
    for case in options.cases:
        rows.append(measure(options, case))
        print('{program:12} {graph:20} saved {saved_ms:10.1f} ms, estimated {estimated_ms:10.1f} ms, error {error:+.0%}'.format(**rows[-1]), flush=True)
    record.write(options.output or record.place(head, 'savings'), head, rows)


if __name__ == '__main__':
    main()
