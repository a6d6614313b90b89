#!/usr/bin/env python3
"""Write docs/first-minutes.md: what somebody types and sees in the first minutes on a bare Debian 12, how long each step takes.

usage: record_first_minutes.py ROOT     ROOT: made by `debootstrap --variant=minbase bookworm ROOT`; run as root, a network is needed.
What was done is kept in ROOT/root/done; started again, it goes on after it: what is taken out there is done again.

Processor seconds are those of all processes of a step: they do not grow when something else runs on the machine.
SPDX-License-Identifier: Apache-2.0"""
import json
import os
import pathlib
import re
import subprocess
import sys

import bare_root

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'bench'))
import record  # pylint: disable=wrong-import-position

PAGE = ROOT / 'docs' / 'first-minutes.md'
STEPS = (('The demo', (
    'tools/demo.sh --html=page.html',
    'tools/demo.sh --html=again.html')),
         ('A C program of your own', (
             'cc -O2 examples/own/neighbours.c -lgraphblas -o neighbours',
             './neighbours',
             'build/tools/tessera run --savings=1 -- ./neighbours')),
         ('Installed', (
             'meson configure build -Ddoors=7,9,10; meson install -C build >/dev/null && ldconfig',
             'tessera run --verbose=1 -- ./neighbours')),
         ('Python', (
             'apt-get install -q -y --no-install-recommends python3-venv',
             'python3 -m venv env',
             'env/bin/pip install -q suitesparse-graphblas==9.4.5.0 python-graphblas==2025.2.0',
             'env/bin/python examples/python/pagerank_gcn.py',
             'tessera run --savings=1 -- env/bin/python examples/python/pagerank_gcn.py')))
PACKAGES = re.compile(r'^(Get:|Hit:|Ign:|Fetched|Reading|Building|The following|  |Need|After|Selecting|Preparing|Unpacking|Setting up|Processing|\(Reading|'
                      r'debconf|E: Can not write log|\d+ added, |Suggested|Recommended|\d+ upgraded|update-alternatives|W: |Download|Created symlink|invoke-rc|Running hooks|done\.$|Updating)')
PROGRESS = re.compile(r'^(.*: looking at routes|.*, turn \d|karate: |.*: \w+, looking at routes)')


def inside(root, command):
    """(output, seconds, processor seconds) of a command in the tree."""
    status, output, *times = bare_root.inside(root, '/root/tessera', command)
    if status:
        sys.exit(f'{command}: status {status}\n{output[-3000:]}')
    return output, *times


class Done:
    """Results of commands, in a file."""

    def __init__(self, path):
        self.path, self.results = path, json.loads(path.read_text(encoding='utf-8')) if path.exists() else {}

    def take(self, command):
        return self.results.get(command)

    def keep(self, command, result):
        self.results[command] = result
        self.path.write_text(json.dumps(self.results), encoding='utf-8')
        return result


def shown(command, output):
    """What a reader wants to see: the lines of package managers and of progress are counted; of the demo that compiles, times are left to the second one."""
    if command == STEPS[0][1][0]:
        output = re.sub(r'(?s)\nR-MAT 16 .*\n(?=Unchanged programs)', '\n(two tables, as below)\n', output)
    installs = 'apt-get' in command or 'demo.sh' in command
    lines, packages, progress = [], 0, 0
    for line in output.splitlines():
        if installs and PACKAGES.match(line):
            packages += 1
        elif PROGRESS.match(line) or line.startswith('Compiling ['):
            progress += 1
        elif line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    notes = [f'({packages} lines about packages)'] if packages else []
    notes += [f'({progress} lines of progress)'] if progress else []
    return '\n'.join(notes + lines).strip()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split('\n\n')[1])
    root = pathlib.Path(sys.argv[1]).resolve()
    done = Done(root / 'root' / 'done')
    if not done.results:
        bare_root.copy_tree(ROOT, root / 'root' / 'tessera')
        bare_root.connect(root)
    commit = subprocess.run(['git', '-C', str(ROOT), 'rev-parse', '--short=12', 'HEAD'], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    cpu = record.header('first-minutes/1', uses_gpu=False)['cpu']['name'].removeprefix('an ')
    short = ' Programs of seconds were\nrun again, at real-time priority.' if os.sched_getscheduler(0) == os.SCHED_FIFO else ''
    page = ['# The first five minutes, recorded', '',
            f'Commit {commit} on a bare Debian 12 (`debootstrap --variant=minbase`), two cores of an {cpu}, no ccache, in the folder of a clone:\n'
            'every command, what it prints, how long it takes. Other work ran on these cores, so times, ratios and what is said to be saved are\n'
            'those of a busy machine. Processor seconds hardly know of it; where both cores work, two idle ones take half of them.' + short, '',
            'Made by `tools/scripts/record_first_minutes.py`; only lines of package managers and of progress are left out.']
    for title, commands in STEPS:
        page += ['', f'## {title}']
        for command in commands:
            output, seconds, busy = done.take(command) or done.keep(command, inside(root, command))
            text = shown(command, output)
            page += ['', '```text', f'$ {command}', *([text] if text else []), f'[{seconds:.0f} s; {busy:.0f} processor seconds]', '```']
            print(command, page[-2], flush=True)
    PAGE.write_text('\n'.join(page).rstrip() + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
