#!/usr/bin/env python3
"""Whole PETSc programs, plain and with the plug-in in turns: CPU time of the process (user and system), the best and the median of several.
Prints a record (record.py), a row for each command.

usage: petsc_programs.py PLUGIN [--turns 5] 'NAME: COMMAND'…

PLUGIN is libtessera_petsc.so.  One process and one thread each.
SPDX-License-Identifier: Apache-2.0"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys

import record

THREADS = {'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}


def cpu_seconds(words):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | THREADS)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f'{shlex.join(words)}: status {process.returncode}')
    return used.ru_utime + used.ru_stime


def measure(name, command, options):
    forms = {'petsc_s': [], 'tessera_s': ['-dll_append', os.path.abspath(options.plugin), '-tessera_rebind']}
    spent = {form: [] for form in forms}
    for turn in range(options.turns):
        for form in sorted(forms, reverse=turn % 2 == 1):  # who comes second finds a warmer machine
            spent[form].append(cpu_seconds(shlex.split(command) + forms[form]))
    arguments = [os.path.basename(word) for word in shlex.split(command)]
    best = {form: round(min(seconds), 3) for form, seconds in spent.items()}
    medians = {form.replace('_s', '_median_s'): round(statistics.median(seconds), 4) for form, seconds in spent.items()}
    return {'program': name, 'command': ' '.join(arguments), 'turns': options.turns} | best | medians


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('plugin')
    parser.add_argument('--turns', type=int, default=5)
    parser.add_argument('commands', nargs='+')
    options = parser.parse_args()
    print(json.dumps(record.header('petsc-programs/1', ['bench/petsc_programs.py', '--turns', str(options.turns)], uses_gpu=False)), flush=True)
    for name, _, command in (line.partition(': ') for line in options.commands):
        print(json.dumps(measure(name, command, options)), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
