#!/usr/bin/env python3
"""On two threads a program opens no more parallel regions through the library than plain: each starts a team, and teams spin.

usage: test_regions.py PROGRAM LIBRARY   (the program of regions.c)
SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import sys

CASES = {'search': 0, 'paths': 1, 'layers': 0, 'pulls': 0}  # and how many regions there are at least, plain: that they are counted


def run(program, library, case):
    """(digest, regions) of one run; library '': plain."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith('TESSERA_') and k != 'LD_PRELOAD'}
    environment = dict(kept, OMP_NUM_THREADS='2', OMP_WAIT_POLICY='passive', HOME='/nonexistent')
    if library:
        environment.update(LD_PRELOAD=library, TESSERA_MODE='auto')
    digest, regions = subprocess.run([program, case], env=environment, capture_output=True, text=True, check=True).stdout.split()
    return digest, int(regions)


def judge(program, library, case, least):
    """False: more regions, or another answer."""
    plain, through = run(program, '', case), run(program, library, case)
    good = through[0] == plain[0] and least <= plain[1] and through[1] <= plain[1]
    print('%-8s plain %4d, through %4d %s' % (case, plain[1], through[1], 'ok' if good else 'NOT COUNTED' if plain[1] < least else 'TOO MANY, or another answer'))
    return good


def main():
    program, library = sys.argv[1:3]
    return 0 if all([judge(program, library, case, least) for case, least in CASES.items()]) else 1


if __name__ == '__main__':
    sys.exit(main())
