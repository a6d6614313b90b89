#!/usr/bin/env python3
"""Calls that are only forwarded cost hardly more instructions than plain ones, counted by valgrind.

usage: test_instructions.py PROGRAM LIBRARY [CASE …] [--calls N] [--out FILE]   (the program of instructions.c; exit code 77: no valgrind)
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'bench'))
import record

CALLS, SIDE = 2000, 320
# The most that is allowed, of what plain calls take.
LIMITS = {'mxm': 1.03, 'masked_mxm': 1.03, 'mxv': 1.03, 'vxm': 1.03,
          'Vector_setElement': 1.03, 'Matrix_setElement': 1.03, 'Vector_extractElement': 1.075, 'Matrix_extractElement': 1.065,
          'eWiseAdd': 1.04, 'apply': 1.04, 'assign': 1.05, 'select': 1.04, 'reduce': 1.04,
          'bfs': 1.02, 'levels': 1.02}
# ... once handles are looked up: an operand of a product may have a record.
LIMITS_AFTER = {'mxm': 1.03, 'masked_mxm': 1.03, 'mxv': 1.03, 'vxm': 1.03, 'Vector_setElement': 1.03, 'Matrix_setElement': 1.03,
                'Vector_extractElement': 1.12, 'Matrix_extractElement': 1.11}
AFTER = 'after'
VALGRIND = ['valgrind', '--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null']


def count(program, library, *arguments):
    """Instructions of one run and what it printed; library '': plain."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith('TESSERA_') and k != 'LD_PRELOAD'}
    environment = dict(kept, OMP_NUM_THREADS='1', HOME='/nonexistent')
    if library:
        environment.update(LD_PRELOAD=library, TESSERA_MODE='cpu' if AFTER in arguments else 'auto')  # one route in every run
    result = subprocess.run(VALGRIND + [program, *map(str, arguments)], env=environment, capture_output=True, text=True, check=False)
    found = re.search(r'I\s+refs:\s+([\d,]+)', result.stderr)
    if result.returncode != 0 or not found:
        raise RuntimeError('%s: %s' % (arguments, result.stderr))
    return int(found[1].replace(',', '')), result.stdout


def measure(program, library, *arguments):
    """Plain and with the library."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda which: count(program, which, *arguments), ('', library)))


def compare(arguments, case, start, after):
    """A row: instructions of a call, plain and through.  What a process costs at its start does not count."""
    size = SIDE if case in ('bfs', 'levels') else arguments.calls
    runs = measure(arguments.program, arguments.library, case, size, *after)
    plain, through = ((run[0] - before[0]) / size for run, before in zip(runs, start))
    return {'call': case, 'after': bool(after), 'calls': size, 'plain': round(plain, 1), 'through': round(through, 1),
            'ratio': round(through / plain, 4), 'same': runs[0][1] == runs[1][1]}


def judge(row, limit):
    """False: too many, or another answer."""
    good = row['same'] and row['ratio'] <= limit
    print('%-22s %12.1f %12.1f %7.4f (limit %.3f) %s' % (
        row['call'], row['plain'], row['through'], row['ratio'], limit, 'ok' if good else 'TOO MANY' if row['same'] else 'ANOTHER ANSWER'))
    return good


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('library')
    parser.add_argument('cases', nargs='*')
    parser.add_argument('--calls', type=int, default=CALLS)
    parser.add_argument('--out', help='a record of it (bench/record.py)')
    return parser.parse_args()


def main():
    if not shutil.which('valgrind'):
        return 77
    arguments = parse()
    print('%-22s %12s %12s   instructions per call (of a search, per side of its grid)' % ('', 'plain', 'through'))
    rows, results = [], []
    for limits, after in ((LIMITS, []), (LIMITS_AFTER, [AFTER])):
        if after:
            print('after a product that is computed here')
        start = measure(arguments.program, arguments.library, 'bfs', 0, *after)
        for case, limit in limits.items():
            if arguments.cases and case not in arguments.cases:
                continue
            rows.append(compare(arguments, case, start, after))
            results.append(judge(rows[-1], limit))
    if arguments.out:
        record.write(arguments.out, record.header('instructions/1', sys.argv, uses_gpu=False), rows)
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
