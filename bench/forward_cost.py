#!/usr/bin/env python3
"""What forwarding costs: nanoseconds per call plain and with the library preloaded.

usage: forward_cost.py PROGRAM LIBRARY [most ns added, default 10]; exits 1 when a call costs more than that.
SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
import sys

FEWEST_ROUNDS, MOST_ROUNDS = 3, 10  # a busy machine only ever adds time: more rounds until the limit is kept


def measure(best, command, environment):
    """Lower the times in `best` by one run."""
    text = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        name, time = line.split()
        best[name] = min(float(time), best.get(name, 1e30))


def most_added(columns):
    return max(c[name] - columns[0][name] for c in columns[1:] for name in c)


def main():
    program, library = sys.argv[1:3]
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 10.0
    clean = {k: v for k, v in os.environ.items() if not k.startswith('TESSERA_') and k != 'LD_PRELOAD'}
    preloaded = dict(clean, LD_PRELOAD=library, TESSERA_MODE='cpu')
    runs = (([program], clean), ([program], preloaded), ([program, 'table'], preloaded))
    columns = ({}, {}, {})
    for done in range(MOST_ROUNDS):
        if done >= FEWEST_ROUNDS and most_added(columns) <= limit:
            break
        for best, (command, environment) in zip(columns, runs):
            measure(best, command, environment)
    print('%-34s %8s %10s %18s   ns per call' % ('call', 'plain', 'forwarded', 'with a side table'))
    for name in columns[0]:
        print('%-34s %8.2f %10.2f %18.2f' % ((name,) + tuple(c[name] for c in columns)))
    worst = most_added(columns)
    print('most added: %.2f ns (limit %.0f)' % (worst, limit))
    return 1 if worst > limit else 0


if __name__ == '__main__':
    sys.exit(main())
