#!/usr/bin/env python3
"""Time whole GraphBLAS programs (examples/) plain and with Tessera preloaded: the same work several times in one process, so that
what is paid once (the start of CUDA, representations) can be told from what every turn costs.

An answer that differs makes the exit status 1.  SPDX-License-Identifier: Apache-2.0"""
import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

import record

REDDIT = 'communities:232965:261'  # about as many vertices and entries as the graph of that name
ROUNDING = 1e-4  # as in examples/program.c
# Name, what it is, program with options, graph ('' = the R-MAT graph of --scale), turns.
PIPELINES = (
    ('pagerank', 'PageRank (GAP), 20 iterations', ['pagerank'], '', 6),
    ('ppr', 'personalised PageRank, 64 seeds, 20 iterations', ['ppr', '--columns', '64'], '', 5),
    ('betweenness', 'betweenness, 32 sources', ['betweenness', '--columns', '32'], '', 3),
    ('bfs', 'breadth-first search, push and pull', ['bfs'], '', 8),
    ('sssp', 'shortest paths, delta-stepping', ['sssp'], '', 6),
    ('sssp-bellman', 'shortest paths, Bellman-Ford', ['sssp', '--form', 'bellman'], '', 8),
    ('components', 'components by label propagation', ['components'], '', 24),
    ('components-fastsv', 'components by FastSV', ['components', '--form', 'fastsv'], '', 4),
    ('triangles', 'triangle count, sorting included', ['triangles'], '', 3),
    ('gcn', 'GCN forward, 2 layers, width 128', ['gcn', '--columns', '128'], REDDIT, 3),
    ('attention', 'graph attention, width 32', ['attention', '--columns', '32'], '', 3),
    ('ktruss', '3-truss', ['ktruss'], '', 3),
    ('clustering', 'clustering coefficients', ['clustering'], '', 3),
    ('markov', 'Markov clustering, 6 steps', ['markov'], '', 2),
    ('galerkin', 'coarse operator R A P', ['galerkin'], '', 3),
)
NAMED_ONLY = ('attention', 'ktruss', 'clustering', 'markov', 'galerkin')  # SuiteSparse takes minutes on large graphs


def parse(text):
    """Standard output of a program with trace lines in it: times of its steps summed up, and what moved in the last turn and what the
    device took for it, copies to the host left out."""
    found = {'first_ms': 0.0, 'later_ms': 0.0, 'read_ms': 0.0, 'all_ms': 0.0, 'difference': 0.0}
    moved, reading, routes = [0, 0], 0, {}
    step, steps, step_of, device = 0, 0, {}, {}  # steps of all turns, of one turn; of a line of the trace; ms of a step
    for line in text.splitlines():
        word, *values = line.split() or ['']
        if line.startswith('{'):
            traced = json.loads(line)
            if 'route' not in traced:
                of = step_of.get(traced['line'])
                device[of] = device.get(of, 0.0) + traced['device_ms']
                continue
            moved[reading] += max(0, traced['bytes_moved'])
            routes[traced['route']] = routes.get(traced['route'], 0) + 1
            if not reading and not traced['route'].endswith(':fetch'):
                step_of[traced['line']] = step
        elif word == 'step':
            reading = 1
            found['all_ms'] = round(found['all_ms'] + float(values[1]), 3)
            found['moved'], found['routes'] = moved, routes
        elif word in ('answer', 'graph'):
            moved, reading, routes = [0, 0], 0, {}
            step += word == 'answer'
        elif word == 'difference':
            found['difference'] = max(found['difference'], float(values[1]))
        elif word == 'turns':
            steps += 1
            for key, value in (('first_ms', values[3]), ('later_ms', values[5]), ('read_ms', values[10])):
                found[key] = round(found[key] + float(value), 3)
        if word == 'graph':
            found['vertices'], found['edges'] = int(values[2]), int(values[4])
    found['device_ms'] = round(sum(device.get(k, 0.0) for k in range(step - steps, step)), 3)
    return found


def graph_file(options, graph, folder):
    """The graph in a form that every process opens at once."""
    path = os.path.join(folder, ''.join(c if c.isalnum() else '-' for c in graph) + '.grb')
    if not os.path.exists(path):
        subprocess.run([os.path.join(options.programs, 'bfs'), '--write-graph', path, graph], check=True)
    return path


def run(options, pipeline, folder, arguments, extra):
    """One process; extra: its environment beside the plain one."""
    _, _, (program, *own), graph, turns = pipeline
    arguments = [*arguments, '--cpu-time'] if options.cpu_time else arguments
    environment = {key: value for key, value in os.environ.items() if key != 'LD_PRELOAD' and not key.startswith('TESSERA_')}
    command = [os.path.join(options.programs, program), *own, '--repeat', str(options.turns or turns), *arguments,
               graph_file(options, options.graph or graph or f'rmat:{options.scale}', folder)]
    done = subprocess.run(command, env=dict(environment, **extra), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f'{" ".join(command)}: status {done.returncode}\n{done.stderr.strip()}')
    return parse(done.stdout)


def through(library, mode, **more):
    given = {key: value for key, value in os.environ.items() if key.startswith('TESSERA_')}
    return dict(given, LD_PRELOAD=os.path.abspath(library), TESSERA_MODE=mode, **more)


def lower(best, times):
    for key in ('first_ms', 'later_ms', 'read_ms', 'all_ms'):
        best[key] = min(best[key], times[key])


def measure(options, pipeline, folder):
    """Rows of one pipeline: one for each mode; the least times of all pairs of processes, which take turns."""
    name, saved = pipeline[0], os.path.join(folder, 'answers')
    other = through(options.against, 'auto') if options.against else {}
    plain = run(options, pipeline, folder, ['--save', saved], other)
    for mode in options.modes:
        ours = run(options, pipeline, folder, ['--against', saved], through(options.library, mode))
        for _ in range(options.pairs - 1):
            lower(plain, run(options, pipeline, folder, [], other))
            lower(ours, run(options, pipeline, folder, [], through(options.library, mode)))
        row = {'pipeline': name, 'graph': os.path.basename(options.graph or pipeline[3] or f'rmat:{options.scale}'), 'mode': mode, 'vertices': plain['vertices'], 'edges': plain['edges'],
               'plain_first_ms': plain['first_ms'], 'plain_ms': plain['later_ms'], 'plain_read_ms': plain['read_ms'],
               'tessera_first_ms': ours['first_ms'], 'tessera_ms': ours['later_ms'], 'tessera_read_ms': ours['read_ms'],
               'plain_all_ms': plain['all_ms'], 'tessera_all_ms': ours['all_ms'],
               'ratio': round(plain['later_ms'] / ours['later_ms'], 3),
               'ratio_read': round((plain['later_ms'] + plain['read_ms']) / (ours['later_ms'] + ours['read_ms']), 3),
               # JSON has no infinity.
               'difference': ours['difference'] if math.isfinite(ours['difference']) else None}
        if options.trace:
            traced = run(options, pipeline, folder, [], through(options.library, mode, TESSERA_TRACE='/dev/stdout'))
            row.update(bytes_moved=traced['moved'][0], bytes_read=traced['moved'][1], routes=traced['routes'],
                       device_ms=traced['device_ms'])
        yield row
    os.unlink(saved)


def wrong(row):
    return row['difference'] is None or row['difference'] > ROUNDING


def route_text(row):
    ordered = sorted(row.get('routes', {}).items(), key=lambda item: -item[1])
    return ', '.join(f'{name} ×{count}' for name, count in ordered[:3])


def gaps(row):
    """Time over what the device took of it; None: it took nothing, or nobody looked."""
    return row['tessera_ms'] / row['device_ms'] if row.get('device_ms') else None


def ratio_all(row):
    """Of all turns of the process, the start of CUDA included; None: of an older record."""
    return row['plain_all_ms'] / row['tessera_all_ms'] if row.get('tessera_all_ms') else None


def describe(row):
    gap = f'{gaps(row):5.2f}' if gaps(row) else '    –'
    moved = f"{row['bytes_moved'] / 1e6:9.3f} MB" if 'bytes_moved' in row else ''
    apart = 'DIFFERENT' if wrong(row) else f"{row['difference']:.1e}"
    return (f"{row['pipeline']:18} {row['mode']:5} {row['plain_ms']:10.2f} {row['tessera_first_ms']:10.2f} {row['tessera_ms']:10.2f} ms "
            f"{row['ratio']:7.2f}x {row['ratio_read']:7.2f}x {ratio_all(row):7.2f}x {gap} {moved} {apart:9} {route_text(row)}")


def amount(count):
    for unit, size in (('GB', 1e9), ('MB', 1e6), ('KB', 1e3)):
        if count >= size:
            return f'{count / size:.3g} {unit}'
    return f'{count} B'


def markdown(path):
    head, rows = record.read(path)
    names = {pipeline[0]: pipeline[1] for pipeline in PIPELINES}
    device = 'no GPU' if head['device'] == head['cpu']['name'] else f"{head['device']}, {head['driver']}"
    lines = [f"{head['threads']} threads of {head['cpu']['name']}, {device}, {head['date'][:10]}, commit {head['commit']}", '',
             '| program | vertices, edges | {} ms | {} first ms | later ms | ratio | with the answer read | all turns '
             '| time / device | moved | largest difference |'.format(*record.sides(head)),
             '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|']
    for row in rows:
        moved = amount(row['bytes_moved']) if 'bytes_moved' in row else '–'
        mode = f" ({row['mode']})"
        every, gap = (f'{ratio:.2f}' if ratio else '–' for ratio in (ratio_all(row), gaps(row)))
        lines.append(f"| {names[row['pipeline']]}{mode} | {row['vertices']:,}, {row['edges']:,} | {row['plain_ms']:.2f} | "
                     f"{row['tessera_first_ms']:.2f} | {row['tessera_ms']:.2f} | {row['ratio']:.2f} | {row['ratio_read']:.2f} | {every} | {gap} | {moved} | "
                     f"{'different' if wrong(row) else format(row['difference'], '.1g')} |")
    return '\n'.join(lines)


def header_of(options):
    return record.header('pipelines/1', uses_gpu=options.modes != ['cpu'], pairs=options.pairs, cpu_time=options.cpu_time,
                         threads=int(os.environ.get('OMP_NUM_THREADS', 0)) or len(os.sched_getaffinity(0)), environment=record.settings(),
                         **record.against(options.against))


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('pipelines', nargs='*', metavar='NAME', help='only these: ' + ', '.join(pipeline[0] for pipeline in PIPELINES))
    parser.add_argument('--programs', default=os.path.join(record.ROOT, 'build/examples'), help='folder of the compiled examples')
    parser.add_argument('--library', default=os.path.join(record.ROOT, 'build/src/graphblas/libtessera.so'))
    parser.add_argument('--against', metavar='LIBRARY', help='preload this one, too, instead of running plain: what changed since it was built')
    parser.add_argument('--scale', type=int, default=18, help='of the R-MAT graph')
    parser.add_argument('--graph', help='this one for every pipeline; several with commas')
    parser.add_argument('--turns', type=int, help='in one process; default: as suits the pipeline')
    parser.add_argument('--pairs', type=int, default=1, help='so many processes of each kind in turns; the least times count')
    parser.add_argument('--cpu-time', action='store_true', help='CPU time of the processes instead of the time that passes: a busy machine')
    parser.add_argument('--modes', type=lambda text: text.split(','), default=['auto'], help='values of TESSERA_MODE, with commas')
    parser.add_argument('--no-trace', dest='trace', action='store_false', help='without the run that counts bytes and routes')
    parser.add_argument('--topic', default='pipelines', help='the record goes to bench/results/<machine>/<topic>')
    parser.add_argument('--output', help='write the record here instead')
    parser.add_argument('--markdown', metavar='RECORD', help='only print such a record as a table')
    options = parser.parse_args(arguments)
    names = [pipeline[0] for pipeline in PIPELINES]
    for name in options.pipelines:
        if name not in names:
            parser.error(f'no pipeline {name}')
    if options.turns is not None and options.turns < 2:
        parser.error('--turns: at least 2')
    return options


def main():
    options = options_of(sys.argv[1:])
    if options.markdown:
        print(markdown(options.markdown))
        return 0
    head, rows = header_of(options), []
    path = options.output or record.place(head, options.topic)
    print(f"{'':24} {'plain':>10} {'first':>10} {'later':>13} {'ratio':>8} {'+ read':>8} {'all':>8} {'gaps':>5}")
    chosen = options.pipelines or [pipeline[0] for pipeline in PIPELINES if pipeline[0] not in NAMED_ONLY]
    graphs = options.graph.split(',') if options.graph else [None]
    with tempfile.TemporaryDirectory() as folder:
        for options.graph, pipeline in itertools.product(graphs, PIPELINES):
            for row in measure(options, pipeline, folder) if pipeline[0] in chosen else ():
                rows.append(row)
                print(describe(row), flush=True)
                record.write(path, head, rows)
    print('results in', path)
    return 1 if any(map(wrong, rows)) else 0


if __name__ == '__main__':
    sys.exit(main())
