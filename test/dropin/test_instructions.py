#!/usr/bin/env python3
"""Calls that are only forwarded cost hardly more instructions than plain ones, counted by valgrind.

usage: test_instructions.py PROGRAM LIBRARY [CASE …]   (the program of instructions.c; exit code 77: no valgrind)
SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

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


def judge(program, library, case, limit, start, after):
    """False: too many, or another answer.  What a process costs at its start does not count."""
    size = SIDE if case in ('bfs', 'levels') else CALLS
    runs = measure(program, library, case, size, *after)
    plain, through = (run[0] - before[0] for run, before in zip(runs, start))
    same = runs[0][1] == runs[1][1]
    good = same and through <= plain * limit
    print('%-22s %12.1f %12.1f %7.4f (limit %.3f) %s' % (
        case, plain / size, through / size, through / plain, limit, 'ok' if good else 'TOO MANY' if same else 'ANOTHER ANSWER'))
    return good


def main():
    if not shutil.which('valgrind'):
        return 77
    program, library = sys.argv[1:3]
    print('%-22s %12s %12s   instructions per call (of a search, per side of its grid)' % ('', 'plain', 'through'))
    results = []
    for limits, after in ((LIMITS, []), (LIMITS_AFTER, [AFTER])):
        if after:
            print('after a product that is computed here')
        start = measure(program, library, 'bfs', 0, *after)
        results += [judge(program, library, case, limit, start, after) for case, limit in limits.items()
                    if case in sys.argv[3:] or not sys.argv[3:]]
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
