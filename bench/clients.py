#!/usr/bin/env python3
"""Time the GAP drivers of a built LAGraph on graph files, plain and with Tessera preloaded: processes take turns.

The time of a process is what the driver itself prints for its calls of the algorithm (mean; the first call among them, and once more by
itself).  Beside it stand the CPU time from the end of reading to the last call, and that of the whole process.  Beside GRAPH.grb (or
.mtx) lies GRAPH.sources.mtx, the vertices to start from, dense and counted from 1.  The exit status is 1 when answers differ, a process
fails or a ratio lies below --least.
SPDX-License-Identifier: Apache-2.0"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pty
import queue
import re
import signal
import select
import statistics
import subprocess
import sys
import tempfile
import time

import record

SCHEMA = 'clients/1'
PLAIN, CONTROL = 'plain', 'control'  # the second is the first once more: how far two equal sides lie apart
FEWEST = 3  # turns of a cell, also beyond its budget
ROUNDING = 1e-4  # of answers in FP32
MOST = 1.02  # instructions over those of plain SuiteSparse
HEAD = 16  # calls whose times a record has one by one
CHANCE = .05  # at most, of being called surely below without being it
CLOCK = 2.0  # ms that a single call takes at least to be compared: drivers print tenths
# trial: seconds of one call; answer: what must agree; stop: nothing behind this line is of interest; whole: never fewer calls, as what
# must agree is printed behind the last one; function: what --instructions counts.
Driver = collections.namedtuple('Driver', 'name program arguments trial answer stop whole function')
DRIVERS = {driver.name: driver for driver in (
    Driver('bfs', 'bfs_demo', ('{sources}',), r'^(?:warmup:|parent only) .*?([\d.e+-]+) sec$', None, None, False,
           'LAGr_BreadthFirstSearch'),
    Driver('sssp', 'sssp_demo', ('{sources}', '{delta}'), r'^sssp\d+: .* time: +([\d.]+) sec', None, None, False,
           'LAGr_SingleSourceShortestPath'),
    Driver('bc', 'bc_demo', ('{sources}',), r'^BC time +\d+: +([\d.]+) \(sec\)', None, None, False, 'LAGr_Betweenness'),
    Driver('cc', 'cc_demo', (), r'^SV6: .* trial: +\d+ time: +([\d.]+) sec', r'^nCC: +(\S+)|^(failure.*)', None, False,
           'LAGr_ConnectedComponents'),
    Driver('tc', 'tc_demo', (), r'^(?:trial +\d+: +([\d.]+) sec|nthreads: +\d+ time: +([\d.]+) .*one trial)',
           r'# of triangles: +(\d[\d.e+]*)', None, False, 'LAGr_TriangleCount'),
    Driver('pr', 'gappagerank_demo', (), r'^trial: +\d+ time: +([\d.]+) sec', r'^GAP: .* iters: (\d+) rsum: (\S+)', r'^GAP: ', True,
           'LAGr_PageRankGAP'))}
Cell = collections.namedtuple('Cell', 'graph driver threads')
# seconds: of every call; cpu: of these, all threads; whole_cpu: user and system of the process; ended: by itself.
Process = collections.namedtuple('Process', 'seconds answers cpu whole_cpu ended')


class Graph:
    """FILE[:DELTA]: the width of a bucket of delta-stepping."""

    def __init__(self, text):
        matched = re.fullmatch(r'(.*?)(?::(\d+))?', text)
        self.path, self.delta = matched[1], matched[2] or '64'
        stem = os.path.splitext(self.path)[0]
        self.name, self.sources = os.path.basename(stem), stem + '.sources.mtx'

    def sizes(self):
        """Vertices and entries, of a binary file; their text is at its head."""
        with open(self.path, 'rb') as file:
            head = file.read(512).decode('ascii', 'replace')
        found = [re.search(rf'^{key}: +(\d+)', head, re.M) for key in ('nrows', 'nvals')]
        return {key: int(match[1]) for key, match in zip(('vertices', 'entries'), found) if match}


def numbers(pattern, line):
    """What the groups of a pattern matched in a line."""
    found = re.search(pattern, line) if pattern else None
    return [group for group in found.groups() if group is not None] if found else []


def lines_of(terminal, silent):
    """Lines as they are printed; an error when none comes for so many seconds."""
    rest = b''
    while True:
        if not select.select([terminal], [], [], silent)[0]:
            raise RuntimeError(f'silent for {silent:g} s')
        try:
            part = os.read(terminal, 65536)
        except OSError:  # nobody holds the other end any more
            part = b''
        if not part:
            return
        *lines, rest = (rest + part).split(b'\n')
        for line in lines:
            yield line.decode(errors='replace').strip()


def follow(lines, driver, enough, clock):
    """What a driver printed and took by a clock, read until it ends or enough(times) says so."""
    seconds, answers, began, last = [], [], clock(), 0.0
    for line in lines:
        times = [float(number) for number in numbers(driver.trial, line)]
        if times:
            seconds, last = seconds + times, clock()
        elif line.startswith('read time'):
            began = clock()
        answers += numbers(driver.answer, line)
        stopped = driver.stop and re.search(driver.stop, line)
        done = seconds and enough(seconds)
        if stopped or (done and not driver.whole):
            return Process(seconds, answers, last - began, None, False)
    return Process(seconds, answers, last - began, None, True)


def cpu_clock(process):
    """Reads the CPU time of all threads of a child in s: the clock that clock_getcpuclockid(3) names."""
    return lambda: time.clock_gettime(~process.pid << 3 | 2)


def command_of(options, cell, sources=None):
    values = {'sources': sources or cell.graph.sources, 'delta': cell.graph.delta}
    return [os.path.join(options.drivers, cell.driver.program), cell.graph.path, *(text.format(**values) for text in cell.driver.arguments)]


def environment_of(options, cell, side, trace=None, cache=None):
    """cache: the folder in which runs tell later ones of the same command; None: they do not (record.py)."""
    kept = {key: value for key, value in os.environ.items() if key != 'LD_PRELOAD' and not key.startswith('TESSERA_')}
    kept['OMP_NUM_THREADS'] = str(cell.threads)
    if cache:
        kept['XDG_CACHE_HOME'] = cache
    if side not in (PLAIN, CONTROL) and options.library:
        kept.update({key: value for key, value in os.environ.items() if key.startswith('TESSERA_')}, TESSERA_MODE=side,
                    LD_PRELOAD=os.path.abspath(options.library))
    return kept | ({'TESSERA_TRACE': trace} if trace else {})


def once(options, cell, side, enough, trace=None, cache=None):
    """One process, on a terminal: drivers then print each line at once, and one that has done enough is stopped."""
    terminal, its_end = pty.openpty()
    with tempfile.TemporaryFile('w+') as errors:
        with subprocess.Popen(command_of(options, cell), env=environment_of(options, cell, side, trace, cache), stdin=subprocess.DEVNULL,
                              stdout=its_end, stderr=errors) as process:
            os.close(its_end)
            seen = None
            try:
                seen = follow(lines_of(terminal, options.silent), cell.driver, enough, cpu_clock(process))
            finally:
                os.close(terminal)
                if not seen or not seen.ended:
                    os.kill(process.pid, signal.SIGKILL)  # Popen.kill would reap one that has just ended
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if not seen.seconds or (seen.ended and process.returncode != 0):
            raise RuntimeError(f"status {process.returncode}: {''.join(errors.read().splitlines()[-1:])}")
    return seen._replace(whole_cpu=used.ru_utime + used.ru_stime)


def agree(first, second):
    """Of two printed answers: fractions but for their rounding, all others exactly."""
    if '.' not in first or '.' not in second:
        return first == second
    try:
        return math.isclose(float(first), float(second), rel_tol=ROUNDING)
    except ValueError:
        return False


def same(processes):
    """Whether all printed what the first one printed; a driver that prints no answers agrees."""
    first = processes[0].answers
    return all(len(process.answers) == len(first) and all(map(agree, process.answers, first)) for process in processes)


def calls_that_fit(options, cell):
    """As many calls as asked for, or as plain SuiteSparse makes in the time of one process; None: as many as the driver wants."""
    if cell.driver.name in options.calls:
        return options.calls[cell.driver.name]
    probe = once(options, cell, 'plain', lambda seconds: sum(seconds) >= options.seconds)
    return None if probe.ended or cell.driver.whole else len(probe.seconds)


def later(process):
    """Mean of the second half of a process's calls, behind whatever starts or moves in the first."""
    return statistics.mean(process.seconds[len(process.seconds) // 2:])


def from_third(process):
    """Mean of a process's calls from the third on; of its last one if there are fewer."""
    return statistics.mean(process.seconds[2:] or process.seconds[-1:])


def row_of(cell, done):
    """The record of a cell; done: the processes of every side, plain first."""
    sides, first = list(done), list(done)[1]
    row = {'graph': cell.graph.name, **cell.graph.sizes(), 'driver': cell.driver.name, 'threads': cell.threads,
           'calls': len(done['plain'][0].seconds)}
    if '{delta}' in cell.driver.arguments:
        row['delta'] = int(cell.graph.delta)
    for key, figure in (('', lambda process: statistics.mean(process.seconds)), ('_first', lambda process: process.seconds[0]),
                        ('_third', from_third), ('_later', later), ('_cpu', lambda process: process.cpu / len(process.seconds)),
                        ('_whole_cpu', lambda process: process.whole_cpu)):
        times = {side: [round(1e3 * figure(process), 4) for process in done[side]] for side in sides}
        row.update({f'{side}{key}_ms': times[side] for side in sides})
        for side in sides[1:]:
            row['ratio' + ('' if side == first else '_' + side) + key] = ratio(times[PLAIN], times[side], CLOCK if key == '_first' else 0)
    row.update({f'{side}_head_ms': [[round(1e3 * seconds, 3) for seconds in process.seconds[:HEAD]] for process in done[side]] for side in sides})
    row['same'] = same([process for side in sides for process in done[side]])
    if not row['same']:
        row['answers'] = {side: done[side][0].answers for side in sides}
    return row


def ratio(plain, auto, shortest):
    """Of medians; None: one is too short for the clock."""
    medians = statistics.median(plain), statistics.median(auto)
    return round(medians[0] / medians[1], 3) if min(medians) > shortest else None


def in_turns(options, cell, cache):
    """The processes of every side."""
    sides = (PLAIN, *options.modes, *[CONTROL] * options.control)
    done, began = {side: [] for side in sides}, time.monotonic()
    calls = calls_that_fit(options, cell)

    def process(side):
        return once(options, cell, side, lambda seconds: calls and len(seconds) >= calls, cache=cache)

    for side in options.modes if options.again else ():
        process(side)
    for turn in range(options.turns):
        if turn >= FEWEST and time.monotonic() - began > options.budget:
            break
        first = turn % len(sides)
        for side in sides[first:] + sides[:first]:
            done[side].append(process(side))
    return done


def measure(options, cell):
    try:
        with tempfile.TemporaryDirectory() as folder:
            return row_of(cell, in_turns(options, cell, folder if options.again else None))
    except RuntimeError as error:
        return {'graph': cell.graph.name, 'driver': cell.driver.name, 'threads': cell.threads, 'failed': str(error)}


def shortened(sources, count, folder):
    """A file with the first few sources only."""
    with open(sources, encoding='utf-8') as file:
        lines = file.read().splitlines()
    comments = [line for line in lines if line.startswith('%')]
    path = os.path.join(folder, os.path.basename(sources))
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join([*comments, f'{count} 1', *lines[len(comments) + 1:][:count]]) + '\n')
    return path


def instructions(options, cell, side, folder):
    """Instructions of all calls of the algorithm in one process under callgrind; betweenness takes its sources by four."""
    sources = shortened(cell.graph.sources, 4 if cell.driver.name == 'bc' else 1, folder)
    command = ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', '--toggle-collect=' + cell.driver.function,
               *command_of(options, cell, sources)]
    ran = subprocess.run(command, env=environment_of(options, cell, side), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         errors='replace', check=False)
    counted = re.search(r'Collected *: (\d+)', ran.stderr)
    if ran.returncode != 0 or not counted:
        raise RuntimeError(f'{" ".join(command)}: status {ran.returncode}\n{ran.stderr[-1000:]}')
    return int(counted[1])


def count_row(options, cell):
    with tempfile.TemporaryDirectory() as folder:
        plain, auto = (instructions(options, cell, side, folder) for side in (PLAIN, 'auto'))
    return {'graph': cell.graph.name, 'driver': cell.driver.name, 'threads': cell.threads, 'plain_instructions': plain,
            'auto_instructions': auto, 'ratio_instructions': round(auto / plain, 4)}


def moved_in(part):
    """Bytes that crossed the bus in a part of a trace."""
    return sum(json.loads(line).get('bytes_moved', 0) for line in part.splitlines())


def moved(options, cell, side, folder):
    """Bytes that crossed the bus in each call of the algorithm in one process, the first one with all that is before it.  The length of the
    trace when a call's line is read tells which records are its own; the next call may have written a few by then."""
    trace, ends = os.path.join(folder, side + '.jsonl'), []
    open(trace, 'w', encoding='utf-8').close()

    def enough(seconds):
        ends.extend([os.path.getsize(trace)] * (len(seconds) - len(ends)))
        return len(seconds) >= options.moved

    once(options, cell, side, enough, trace)
    with open(trace, 'rb') as file:
        written = file.read()
    return [moved_in(written[begin:end]) for begin, end in zip([0, *ends], ends[:options.moved])]


def moved_row(options, cell):
    row = {'graph': cell.graph.name, **cell.graph.sizes(), 'driver': cell.driver.name, 'threads': cell.threads}
    try:
        with tempfile.TemporaryDirectory() as folder:
            return row | {f'{side}_moved_bytes': moved(options, cell, side, folder) for side in options.modes}
    except RuntimeError as error:
        return row | {'failed': str(error)}


def rows_of(options, function):
    """Rows of all cells as they are done: those of one thread several at once, each on its own core."""
    cells = [Cell(Graph(graph), DRIVERS[name], threads) for threads in options.threads for graph in options.graphs
             for name in options.only]
    cores = queue.SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:options.jobs]:
        cores.put(core)

    def pinned(cell):
        core = cores.get()
        os.sched_setaffinity(0, {core})  # of this thread; the processes it starts inherit it
        try:
            return function(options, cell)
        finally:
            cores.put(core)

    together = [cell for cell in cells if cell.threads == 1 and options.jobs > 1]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for finished in concurrent.futures.as_completed([pool.submit(pinned, cell) for cell in together]):
            yield finished.result()
    for cell in cells:
        if cell not in together:
            yield function(options, cell)


def wrong(row):
    return 'failed' in row or not row.get('same', True)


def below(row, least):
    """Whether a ratio, of all calls or of the first one, lies below the bound, or instructions above theirs."""
    return row.get('ratio_instructions', 0) > MOST or any(row.get(key) is not None and row[key] < least for key in ('ratio', 'ratio_first'))


def arrangements(first, second):
    """counts[u]: how many orders of so many times of one kind and of another have u pairs in which the second is longer."""
    counts = {(0, n): [1] for n in range(second + 1)}
    for m in range(1, first + 1):
        counts[m, 0] = [1]
        for n in range(1, second + 1):
            # the longest of all is of the second kind, longer than all m of the first, or of the first
            longer, rest = [0] * m + counts[m, n - 1], counts[m - 1, n]
            counts[m, n] = [a + b for a, b in zip(longer, rest + [0] * (len(longer) - len(rest)))]
    return counts[first, second]


def surely_longer(plain, auto):
    """Whether auto's times are the longer ones by more than chance: Wilcoxon's rank-sum test, one-sided, exact."""
    pairs = sum(b > a for a in plain for b in auto)
    counts = arrangements(len(plain), len(auto))
    return sum(counts[pairs:]) <= CHANCE * sum(counts)


def surely_below(row, least, side):
    """Whether a ratio lies below the bound, and not by chance only: times of all turns, each side's multiplied by the bound."""
    keys = [key for key in ('', '_first') if below({'ratio': row.get(f'ratio{"_" + CONTROL if side == CONTROL else ""}{key}')}, least)]
    return any(surely_longer(row[f'{PLAIN}{key}_ms'], [least * time for time in row[f'{side}{key}_ms']]) for key in keys)


def below_by_chance(row, least):
    """Whether plain SuiteSparse lies below itself, where a control was run."""
    return below({key: row.get(key.replace('ratio', 'ratio_' + CONTROL)) for key in ('ratio', 'ratio_first')}, least)


def describe(row):
    head = f"{row['graph'][:20]:20} {row['driver']:5} {row['threads']:2}"
    if 'failed' in row:
        return f"{head} FAILED {row['failed']}"
    if 'plain_instructions' in row:
        return f"{head} {row['plain_instructions']:13,} {row['auto_instructions']:13,} instructions {row['ratio_instructions']:.4f}x"
    counted = {key: row[key] for key in row if key.endswith('_moved_bytes')}
    if counted:
        return f"{head} " + '  '.join(f"{key[:-len('_moved_bytes')]} moved {' '.join(f'{n / 1e6:.6g}' for n in counts)} MB" for key, counts in counted.items())
    mode = mode_of(row)
    medians = [statistics.median(row[side + key + '_ms']) for key in ('', '_first') for side in (PLAIN, mode)]
    best = f"{min(row['plain_ms']) / max(min(row[mode + '_ms']), 1e-9):.2f}x"
    shown = [f'{row[key]:.2f}x' if row[key] is not None else '–' for key in ('ratio', 'ratio_first', 'ratio_cpu')]
    control = row.get('ratio_' + CONTROL)
    return (f"{head} {medians[0]:10.3f} {medians[1]:10.3f} ms {shown[0]:>7} first {medians[2]:10.3f} {medians[3]:10.3f} ms {shown[1]:>7} "
            f"{f'control {control:.2f}x ' if control else ''}best {best:>6} cpu {shown[2]:>6} calls {row['calls']:3} "
            f"turns {len(row['plain_ms'])}{'' if row['same'] else ' DIFFERENT'}")


def geometric(ratios):
    return f'{math.exp(statistics.mean(map(math.log, ratios))):.3f}' if ratios else '–'


def table(rows, key='ratio'):
    """Plain over auto: a line for each graph, a column for each driver and number of threads."""
    columns = sorted({(row['threads'], list(DRIVERS).index(row['driver'])) for row in rows})
    names = [(threads, list(DRIVERS)[index]) for threads, index in columns]
    found = {(row['graph'], row['threads'], row['driver']): row.get(key) for row in rows}
    lines = ['| graph | ' + ' | '.join(f'{driver} {threads}' for threads, driver in names) + ' |', '|---|' + '---:|' * len(names)]
    for graph in dict.fromkeys(row['graph'] for row in rows):
        cells = [found.get((graph, *name)) for name in names]
        lines.append(f'| {graph} | ' + ' | '.join(f'{cell:.2f}' if cell is not None else '–' for cell in cells) + ' |')
    means = [geometric([row[key] for row in rows if (row['threads'], row['driver']) == name and row.get(key)]) for name in names]
    return '\n'.join([*lines, '| geometric mean | ' + ' | '.join(means) + ' |'])


def mode_of(row):
    """The first side of a row beside plain."""
    return next(key for key in row if key.endswith('_ms') and key != PLAIN + '_ms')[:-len('_ms')]


def surely(timed, least):
    """How many cells lie surely below the bound, and how many of plain SuiteSparse against itself."""
    controls = [row for row in timed if CONTROL + '_ms' in row]
    count = sum(surely_below(row, least, mode_of(row)) for row in timed)
    return f'{count}' + (f' ({sum(surely_below(row, least, CONTROL) for row in controls)} of plain SuiteSparse against itself)' if controls else '')


def report(rows, least):
    """Prints tables and what lies below the bound; the exit status."""
    timed = sorted((row for row in rows if 'plain_ms' in row), key=lambda row: row['graph'].lower())
    slow, bad = [row for row in rows if below(row, least)], [row for row in rows if wrong(row)]
    if timed:
        print('\nplain over auto, medians of all calls (driver, threads)\n\n' + table(timed))
        print('\nof the first call of a process\n\n' + table(timed, 'ratio_first'))
        print('\nof CPU time of the calls\n\n' + table(timed, 'ratio_cpu'))
    chance = sum(below_by_chance(row, least) for row in rows)
    compared = f' ({chance} of plain SuiteSparse against itself)' if any('ratio_' + CONTROL in row for row in rows) else ''
    print(f'\n{len(rows)} cells, {len(slow)} below {least:g}{compared}, {len(bad)} different or failed', *map(describe, slow + bad), sep='\n')
    if timed and slow:
        print(f'more than chance (rank sums, {CHANCE:.0%}): {surely(timed, least)}')
    return 1 if slow or bad else 0


def head_of(options):
    return record.header(SCHEMA, library=bool(options.library), turns=options.turns, jobs=options.jobs, seconds=options.seconds,
                         budget=options.budget, control=options.control, environment=record.settings())


def calls_of(text):
    """driver:count,…"""
    return {name: int(count) for name, count in (part.split(':') for part in text.split(','))}


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--drivers', help="folder of LAGraph's compiled benchmark drivers")
    parser.add_argument('--graphs', nargs='+', default=[], metavar='FILE[:DELTA]', help='what the drivers read, .grb or .mtx')
    parser.add_argument('--only', type=lambda text: text.split(','), default=list(DRIVERS),
                        help='drivers, with commas: ' + ','.join(DRIVERS))
    parser.add_argument('--library', default=os.path.join(record.ROOT, 'build/src/graphblas/libtessera.so'),
                        help="to preload; '': both sides are plain, which shows how far ratios lie from 1 by chance")
    parser.add_argument('--threads', type=lambda text: [int(word) for word in text.split(',')], default=[1, 2], help='with commas')
    parser.add_argument('--modes', type=lambda text: text.split(','), default=['auto'], help='values of TESSERA_MODE beside plain, with commas')
    parser.add_argument('--again', action='store_true', help='earlier runs of the same command are known, and one was made before; else none is')
    parser.add_argument('--control', action='store_true', help='run plain SuiteSparse a second time in every turn, and compare it with itself')
    parser.add_argument('--calls', type=calls_of, default={}, metavar='DRIVER:COUNT,…', help='calls of one process, instead of --seconds')
    parser.add_argument('--turns', type=int, default=7, help='processes of each kind')
    parser.add_argument('--seconds', type=float, default=.3, help='of calls in one process, after which it is stopped')
    parser.add_argument('--budget', type=float, default=120, help=f'seconds of one cell, after which it takes no more turns than {FEWEST}')
    parser.add_argument('--silent', type=float, default=120, help='seconds without a line after which a process has failed')
    parser.add_argument('--jobs', type=int, default=1, help='so many cells of one thread at once, each pinned to a core')
    parser.add_argument('--least', type=float, default=.97, help='ratio of plain over auto that no cell may lie below')
    parser.add_argument('--instructions', action='store_true', help='count instructions of the calls under callgrind instead')
    parser.add_argument('--moved', type=int, metavar='COUNT', help='trace so many calls in each mode instead, and count the bytes that each moves')
    parser.add_argument('--output', help='write the record here; default: bench/results/<machine>/clients/…')
    parser.add_argument('--table', metavar='RECORD', help='only print a record')
    options = parser.parse_args(arguments)
    if not options.table and not (options.drivers and options.graphs):
        parser.error('--drivers and --graphs are needed')
    for name in options.only:
        if name not in DRIVERS:
            parser.error(f'no driver {name}')
    return options


def main():
    options = options_of(sys.argv[1:])
    if options.table:
        return report(record.read(options.table)[1], options.least)
    head, rows = head_of(options), []
    path = options.output or record.place(head, 'clients')
    record.write(path, head, [])
    for row in rows_of(options, count_row if options.instructions else moved_row if options.moved else measure):
        rows.append(row)
        record.append(path, head, row)
        print(describe(row), flush=True)
    print('results in', path)
    return report(rows, options.least)


if __name__ == '__main__':
    sys.exit(main())
