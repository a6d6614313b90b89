#!/usr/bin/env python3
"""Run the example programs plain and through `tessera run`, in turns, and print a table (called by demo.sh).

SPDX-License-Identifier: Apache-2.0"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
PROGRAMS = ('pagerank', 'ppr', 'triangles', 'ktruss', 'gcn', 'sddmm', 'bfs', 'sssp', 'components', 'betweenness')
TURNS = 3
LONG = 30.0  # seconds: a program whose turn takes longer gets one turn
LAUNCHER = os.path.join(BUILD, 'tools', 'tessera')


class Failure(Exception):
    """A message for the user."""


class Progress:
    """What is going on, when nothing has been printed for two seconds."""

    def __init__(self):
        self.began, self.shown = time.monotonic(), False

    def show(self, text):
        if time.monotonic() - self.began < 2:
            return
        if sys.stderr.isatty():
            sys.stderr.write(f'\r\033[K{text}')
        else:
            sys.stderr.write(text + '\n')
            self.began = time.monotonic()
        sys.stderr.flush()
        self.shown = True

    def clear(self):
        if self.shown and sys.stderr.isatty():
            sys.stderr.write('\r\033[K')
        self.began, self.shown = time.monotonic(), False


def parse(text):
    """Standard output with trace lines in it -> (steps in order: [name, ms, routes, difference], other lines)."""
    steps, lines, routes = [], [], {}
    for line in text.splitlines():
        word, *values = line.split() or ['']
        if line.startswith('{'):
            record = json.loads(line)
            if 'route' not in record:  # what the device took for a line before
                continue
            routes[record['route']] = routes.get(record['route'], 0) + 1
        elif word == 'step':
            steps.append([values[0], float(values[1]), routes, 0.0])
        elif word == 'answer':
            routes = {}
        elif word == 'difference':
            steps[-1][3] = float(values[1])
        else:
            lines.append(line)
    return steps, lines


def run(program, graph, arguments, through, traced=False):
    """One process: steps and other lines.  Its trace goes to its own standard output, so that every product stands before the step it belongs to."""
    command = [os.path.join(BUILD, 'examples', program), *arguments, graph]
    environment = {key: value for key, value in os.environ.items() if key not in ('LD_PRELOAD', 'TESSERA_TRACE')}
    if through:
        command = [LAUNCHER, 'run', '--'] + command
    if traced:
        environment['TESSERA_TRACE'] = '/dev/stdout'
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        how = ' through Tessera' if through else ''
        raise Failure(f"{done.stderr.strip() or 'no message'} ({program}{how} ended with status {done.returncode})")
    return parse(done.stdout)


def route_text(routes):
    """The routes of one step, most used first."""
    if not routes:
        return 'no product'
    ordered = sorted(routes.items(), key=lambda item: -item[1])
    return ', '.join(f'{name} ×{count}' if count > 1 else name for name, count in ordered[:3])


def compare(program, graph, progress):
    """Rows of one program: step, plain ms, Tessera ms, difference, routes; and what it printed."""
    times = [[], []]
    with tempfile.TemporaryDirectory() as folder:
        saved = os.path.join(folder, 'plain')
        progress.show(f'{graph}: {program}, routes …')
        steps, printed = run(program, graph, [], True, traced=True)
        began = time.monotonic()
        names, routes = [step[0] for step in steps], [step[2] for step in steps]
        for turn in range(TURNS):
            if turn > 0 and time.monotonic() - began > LONG:
                break
            for through in ((0, 1) if turn % 2 == 0 else (1, 0)):
                progress.show(f"{graph}: {program}, turn {turn + 1} of {TURNS}, {('plain', 'Tessera')[through]} …")
                steps = run(program, graph, ['--against' if through else '--save', saved], through)[0]
                times[through].append([step[1] for step in steps])
                if through:
                    differences = [step[3] for step in steps]
    medians = [[statistics.median(column) for column in zip(*side)] for side in times]
    return list(zip(names, medians[0], medians[1], differences, routes)), printed


def show(graph):
    """The table of one graph; True if every answer agrees."""
    progress, agree = Progress(), True
    print(f'\n{graph}')
    print(f"{'step':<24}{'plain ms':>11}{'Tessera ms':>12}{'ratio':>8}{'largest diff':>14}  route")
    notes = []
    for program in PROGRAMS:
        rows, printed = compare(program, graph, progress)
        progress.clear()
        for name, plain, tessera, apart, routes in rows:
            label = name if name.startswith(program) else f'{program}: {name}'
            print(f"{label:<24}{plain:>11.3f}{tessera:>12.3f}{plain / max(tessera, 1e-6):>7.2f}x{apart:>14.2g}  {route_text(routes)}",
                  flush=True)
            agree = agree and apart <= 1e-5
        notes += [line for line in printed if not line.startswith(('graph', 'rank 2', 'rank 3', 'rank 4', 'rank 5'))]
    print('answers: ' + '; '.join(notes))
    return agree


def main():
    if sys.argv[1:] == ['--targets']:
        targets = ['src/graphblas/tessera:shared_library', 'tools/tessera:executable']
        print(' '.join(targets + [f'examples/{name}:executable' for name in PROGRAMS]))
        return 0
    try:
        for graph in sys.argv[1:]:
            if graph.startswith('/'):  # a file: say what is wrong with it before anything long begins
                run('bfs', graph, [], False)
        results = [show(graph) for graph in sys.argv[1:]]
    except (Failure, OSError) as failure:
        print(f'\ndemo: {failure}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if not all(results):
        print('demo: some answers differ by more than 1e-5 of their largest value', file=sys.stderr)
        return 1
    print('\nEvery answer agrees with plain SuiteSparse (largest diff: relative to the largest value of the step).')
    return 0


sys.exit(main())
