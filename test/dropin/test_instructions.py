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
LIMITS = {'mxm': 1.03, 'masked_mxm': 1.035, 'mxv': 1.03, 'vxm': 1.03,
          'Vector_setElement': 1.03, 'Matrix_setElement': 1.03, 'Vector_extractElement': 1.1, 'Matrix_extractElement': 1.1,
          'eWiseAdd': 1.04, 'apply': 1.04, 'assign': 1.05, 'select': 1.04, 'reduce': 1.04,
          'bfs': 1.02, 'levels': 1.02}
VALGRIND = ['valgrind', '--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null']


def count(program, library, case, size):
    """Instructions of one run and what it printed; library '': plain."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith('TESSERA_') and k != 'LD_PRELOAD'}
    environment = dict(kept, OMP_NUM_THREADS='1', HOME='/nonexistent', **({'LD_PRELOAD': library} if library else {}))
    result = subprocess.run(VALGRIND + [program, case, str(size)], env=environment, capture_output=True, text=True, check=False)
    found = re.search(r'I\s+refs:\s+([\d,]+)', result.stderr)
    if result.returncode != 0 or not found:
        raise RuntimeError('%s %s: %s' % (case, size, result.stderr))
    return int(found[1].replace(',', '')), result.stdout


def measure(program, library, case, size):
    """Plain and with the library."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda which: count(program, which, case, size), ('', library)))


def judge(program, library, case, start):
    """False: too many, or another answer.  What a process costs at its start does not count."""
    size = SIDE if case in ('bfs', 'levels') else CALLS
    runs = measure(program, library, case, size)
    plain, through = (run[0] - before[0] for run, before in zip(runs, start))
    same = runs[0][1] == runs[1][1]
    good = same and through <= plain * LIMITS[case]
    print('%-22s %12.1f %12.1f %7.4f (limit %.3f) %s' % (
        case, plain / size, through / size, through / plain, LIMITS[case], 'ok' if good else 'TOO MANY' if same else 'ANOTHER ANSWER'))
    return good


def main():
    if not shutil.which('valgrind'):
        return 77
    program, library = sys.argv[1:3]
    print('%-22s %12s %12s   instructions per call (of a search, per side of its grid)' % ('', 'plain', 'through'))
    start = measure(program, library, 'bfs', 0)
    results = [judge(program, library, case, start) for case in sys.argv[3:] or LIMITS]
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
