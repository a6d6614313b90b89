#!/usr/bin/env python3
"""Compile the example programs, run them plain and through `tessera run` in turns, print a table (called by demo.sh).

usage: demo.py [--html=PAGE] GRAPH…     GRAPH: karate, rmat:16, communities:30000:16, or the path of a file

SPDX-License-Identifier: Apache-2.0"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import demo_page

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
PROGRAMS = ('pagerank', 'ppr', 'triangles', 'ktruss', 'gcn', 'sddmm', 'bfs', 'sssp', 'components', 'betweenness')
TURNS = 3
LONG = 2.0  # seconds: a program whose turn takes longer gets one turn
LARGEST_DIFFERENCE = 1e-5  # of the largest value of a step
LAUNCHER = os.path.join(BUILD, 'tools', 'tessera')
COLOUR = sys.stdout.isatty() and os.environ.get('TERM', 'dumb') != 'dumb' and 'NO_COLOR' not in os.environ


class Failure(Exception):
    """A message for the user."""


class Progress:
    """What is going on: one line that changes on a terminal, a line every five seconds elsewhere."""

    def __init__(self):
        self.said, self.shown = time.monotonic(), False

    def show(self, text):
        if sys.stderr.isatty():
            sys.stderr.write(f'\r\033[K{text[:100]}')
            self.shown = True
        elif time.monotonic() - self.said >= 5:
            sys.stderr.write(text + '\n')
            self.said = time.monotonic()
        sys.stderr.flush()

    def clear(self):
        if self.shown:
            sys.stderr.write('\r\033[K')
        self.shown = False


# ---- compiling ----

def targets():
    """Files that ninja makes: the library, the command with what `tessera bench` compares with, the programs."""
    listed = subprocess.run(['ninja', '-C', BUILD, '-t', 'targets', 'all'], capture_output=True, text=True, check=True).stdout
    wanted = re.compile(r'(src/graphblas/libtessera\.so[.\d]*|tools/tessera|tools/libtessera_\w+\.so|backends/cuda/libtessera_cuda\.so'
                        rf'|examples/({"|".join(PROGRAMS)})): ')
    found = [match.group(1) for match in map(wanted.match, listed.splitlines()) if match]
    if not any(name.startswith('examples/') for name in found):
        raise Failure(f'{os.path.relpath(BUILD)}/ was configured without GraphBLAS; remove it and start again')
    return found


def compile_all(progress):
    began, last = time.monotonic(), []
    with subprocess.Popen(['ninja', '-C', BUILD, *targets()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ninja:
        for line in ninja.stdout:
            counted = re.match(r'\[\d+/\d+\]', line)
            last = (last + [line])[-40:]
            if counted:
                progress.show(f'Compiling {counted.group()}  {time.monotonic() - began:.0f} s')
    progress.clear()
    if ninja.returncode:
        raise Failure('compiling failed:\n' + ''.join(last))
    print(f'Compiled in {time.monotonic() - began:.0f} s')


# ---- running ----

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
    """Who computed the products of one step, most used first."""
    if not routes:
        return 'no product'
    ordered = sorted(routes.items(), key=lambda item: -item[1])
    return ', '.join(f'{name} ×{count}' if count > 1 else name for name, count in ordered[:2])


def compare(program, graph, progress):
    """Rows of one program, and what it printed."""
    times = [[], []]
    with tempfile.TemporaryDirectory() as folder:
        saved = os.path.join(folder, 'plain')
        progress.show(f'{graph}: {program}, looking at routes')
        traced, printed = run(program, graph, [], True, traced=True)
        began = time.monotonic()
        for turn in range(TURNS):
            if turn > 0 and time.monotonic() - began > LONG:
                break
            for through in ((0, 1) if turn % 2 == 0 else (1, 0)):
                progress.show(f"{graph}: {program}, turn {turn + 1} of {TURNS}, {('plain', 'Tessera')[through]}")
                steps = run(program, graph, ['--against' if through else '--save', saved], through)[0]
                times[through].append([step[1] for step in steps])
                if through:
                    differences = [step[3] for step in steps]
    plain, tessera = ([statistics.median(column) for column in zip(*side)] for side in times)
    rows = [{'program': program, 'step': step[0] if step[0].startswith(program) else f'{program}: {step[0]}', 'plain_ms': ms, 'tessera_ms': ours,
             'ratio': ms / max(ours, 1e-6), 'difference': apart, 'route': route_text(step[2])}
            for step, ms, ours, apart in zip(traced, plain, tessera, differences)]
    return rows, printed


# ---- saying ----

def name_of(graph):
    """For people."""
    kind, *numbers = graph.split(':')
    if kind == 'rmat':
        return f'R-MAT {numbers[0]} (random, few vertices with many edges; {2 ** int(numbers[0]):,} vertices)'
    if kind == 'communities':
        return f'communities (like a social network; {int(numbers[0]):,} vertices)'
    return os.path.basename(graph)


def bar(ratio):
    """A block for each doubling, and halves of them."""
    return '█' * max(0, round(2 * (ratio - 1))) if ratio < 6 else '█' * 10 + '▶'


def painted(ratio, text):
    colour = '32' if ratio >= 1.1 else '33' if ratio < 0.9 else '0'
    return f'\033[{colour}m{text}\033[0m' if COLOUR else text


def show(graph, progress):
    """The table of one graph."""
    print(f'\n{name_of(graph)}\n\n{"step":<24}{"plain ms":>10}{"Tessera ms":>12}{"times as fast":>15}')
    result = {'graph': name_of(graph), 'rows': [], 'answers': []}
    for program in PROGRAMS:
        rows, printed = compare(program, graph, progress)
        progress.clear()
        for row in rows:
            ratio = painted(row['ratio'], f"{row['ratio']:>14.2f}x")
            print(f"{row['step']:<24}{row['plain_ms']:>10.2f}{row['tessera_ms']:>12.2f}{ratio} {bar(row['ratio']):<11} {row['route']}", flush=True)
        result['rows'] += rows
        result['answers'] += [line for line in printed if not line.startswith(('graph', 'rank 2', 'rank 3', 'rank 4', 'rank 5'))]
    return result


def agree(result):
    return all(row['difference'] <= LARGEST_DIFFERENCE for row in result['rows'])


def karate(progress):
    """Too small to gain anything: one line about right answers."""
    answers, same = [], True
    for program in PROGRAMS:
        progress.show(f'karate: {program}')
        with tempfile.TemporaryDirectory() as folder:
            saved = os.path.join(folder, 'plain')
            run(program, 'karate', ['--save', saved], False)
            steps, printed = run(program, 'karate', ['--against', saved], True)
            same = same and all(step[3] <= LARGEST_DIFFERENCE for step in steps)
            answers += [line for line in printed if line.startswith(('triangles', 'source', 'components'))]
    progress.clear()
    print(f"\nKarate club (34 people): {len(PROGRAMS)} programs, answers {'as without Tessera' if same else 'DIFFER'}: {'; '.join(answers)}")
    return same


def closing(results):
    """What the tables come to, and what to do next."""
    ratios = [row['ratio'] for result in results for row in result['rows']]
    if not ratios:
        return ''
    mean, best = statistics.geometric_mean(ratios), max((row for result in results for row in result['rows']), key=lambda row: row['ratio'])
    return (f"Unchanged programs, {len(ratios)} timed steps: {mean:.1f} times as fast in the geometric mean "
            f"(from {min(ratios):.2f} to {best['ratio']:.1f}, {best['step']}); every answer agrees with plain SuiteSparse.")


def main():
    page = next((word.split('=', 1)[1] for word in sys.argv[1:] if word.startswith('--html=')), None)
    graphs = [word for word in sys.argv[1:] if not word.startswith('--')]
    progress = Progress()
    try:
        compile_all(progress)
        for graph in graphs:
            if graph.startswith('/'):  # a file: say what is wrong with it before anything long begins
                run('bfs', graph, [], False)
        good = [karate(progress)] if 'karate' in graphs else []
        results = [show(graph, progress) for graph in graphs if graph != 'karate']
        good += [agree(result) for result in results]
        words = closing(results)
        if page and results:
            demo_page.write(page, results, words)
    except (Failure, OSError, subprocess.CalledProcessError) as failure:
        progress.clear()
        print(f'demo: {failure}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if not all(good):
        print('demo: some answers differ by more than 1e-5 of their largest value', file=sys.stderr)
        return 1
    print(f'\n{words}\n' if words else '', end='')
    if page and results:
        print(f'Pictures: {page}')
    folder = os.path.relpath(BUILD, ROOT)
    print(f'Next: {folder}/tools/tessera run -- ./your-program     (to install: meson install -C {folder})')
    return 0


sys.exit(main())
