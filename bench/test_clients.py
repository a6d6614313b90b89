#!/usr/bin/env python3
"""Tests of clients.py: what the drivers print, and whole runs with scripts in the drivers' place.  SPDX-License-Identifier: Apache-2.0"""
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest

import clients
import record

try:
    import numpy as np
    import gap_graphs
except ImportError:
    gap_graphs = None

CLIENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'clients.py')
# As LAGraph 1.1.4 prints; times and answers that are to be found in it.
PRINTED = {
    'bfs': ('''warmup: parent only, pushpull: 0.000385442 sec

------------------------------- threads:  1
parent only  pushpull trial:  0 threads:  1 src:        15952     0.0008 sec
parent only  pushpull trial:  1 threads:  1 src:        11915     0.0007 sec
Avg: BFS pushpull parent only  threads   1:      0.003 sec: graph.grb
''', [.000385442, .0008, .0007], []),
    'sssp': ('''delta: 64
sssp15:  threads:  2 trial:  0 source         4327 time:     0.0145 sec
sssp15:  threads:  2 trial:  1 source         4301 time:    10.0137 sec

 2: SSSP    time:       5.014100 sec  rate:    11.67 (delta 64)
''', [.0145, 10.0137], []),
    'bc': ('''Trial 1 : sources: [ 4327 4301 4384 4314 ]
BC time  1:       0.3900 (sec)

trials: 1

Ave BC  1:      0.390 sec, rate      2.604
''', [.39], []),
    'cc': ('''nCC:                2e+04
# of trials: 16

SV6:      nthreads:  1 trial:  0 time:     0.0351 sec
failure! 2 1 diff 1
SV6:      nthreads:  1 trial:  1 time:     0.0399 sec
SV6:      nthreads:  1 Avg: time:     0.0375 sec ntrials 16
''', [.0351, .0399], ['2e+04', 'failure! 2 1 diff 1']),
    'tc': ('''# of trials: 3
warmup method: Sandia_ULT: sum ((U*L') .* U)   auto-sort
# of triangles: 15659218
nthreads:   1 time:     0.880802 rate:   2.06 (Sandia_ULT, one trial)
trial  0:     0.929457 sec rate   1.96  # triangles: 1.56592e+07
nthreads:   1 time:     0.925501 rate:   1.96   # of triangles: 15659218 presort: 1
Best method: Sandia_LUT: sum ((L*U') .* L)   auto-sort
nthreads:   1 time:     0.925501 rate:   1.96
''', [.880802, .929457], ['15659218', '15659218']),
    'pr': ('''# of trials: 16
--------------------------- nthreads:  1
trial:  0 time:     0.0172 sec
trial:  1 time:     0.0161 sec
GAP:   1: avg time:      0.017 (sec), rate:     21.787 iters: 8 rsum: 7.552450e-01

trial:  0 time:     9.0332 sec
STD:   1: avg time:      0.027 (sec), rate:     15.360 iters: 9 rsum: 9.999972e-01
''', [.0172, .0161], ['8', '7.552450e-01'])}
# Counts its triangles slowly, and differently through Tessera where SHELL says so.
SCRIPT = '''#!/bin/sh
time=0.004 count=7
[ "$TESSERA_MODE" = auto ] && {{ {shell}; }}
echo "read time: 0.1"
echo "# of triangles: $count"
echo "nthreads: $OMP_NUM_THREADS time: $time rate: 1 (Sandia_ULT, one trial)"
echo "trial 0: $time sec rate 1 # triangles: $count"
'''


def follow(name, enough=lambda seconds: False):
    return clients.follow(PRINTED[name][0].splitlines(), clients.DRIVERS[name], enough, lambda: 0.0)


class Parsing(unittest.TestCase):
    def test_every_driver(self):
        self.assertEqual(set(PRINTED), set(clients.DRIVERS))
        for name, (_, seconds, answers) in PRINTED.items():
            with self.subTest(name):
                seen = follow(name)
                self.assertEqual((seen.seconds, seen.answers), (seconds, answers))
                self.assertEqual(seen.ended, name != 'pr')

    def test_stops_after_so_many_calls(self):
        seen = follow('bfs', lambda seconds: len(seconds) >= 2)
        self.assertEqual((len(seen.seconds), seen.ended), (2, False))
        self.assertEqual(len(follow('pr', lambda seconds: True).seconds), 2)  # its answer stands behind its calls

    def test_cpu_time_is_from_reading_to_the_last_call(self):
        ticks = iter([1.0, 5.0, 6.0, 8.0])
        lines = ['hello', 'read time: 1', 'trial  0: 1.0 sec', 'trial  1: 1.0 sec', 'more']
        self.assertEqual(clients.follow(lines, clients.DRIVERS['tc'], lambda seconds: False, lambda: next(ticks)).cpu, 3.0)

    def test_answers(self):
        for first, second, equal in (('7', '7', True), ('7', '8', False), ('7.552450e-01', '7.552451e-01', True), ('0.75', '0.76', False),
                                     ('0.5', '0.5x', False), ('15659218', '15659219', False)):
            self.assertEqual(clients.agree(first, second), equal, (first, second))
        shorter = [clients.Process([1.0], answers, 0, 0, True) for answers in (['1', '2'], ['1'])]
        self.assertFalse(clients.same(shorter))

    def test_bounds(self):
        for row, slow in (({'ratio': .98, 'ratio_first': None}, False), ({'ratio': .96, 'ratio_first': 1.0}, True),
                          ({'ratio': 1.0, 'ratio_first': .96}, True), ({'ratio_instructions': 1.02}, False),
                          ({'ratio_instructions': 1.021}, True), ({'failed': 'why'}, False)):
            self.assertEqual(clients.below(row, .97), slow, row)

    def test_longer_by_more_than_chance(self):
        for plain, auto, sure in (([1, 2, 3], [4, 5, 6], True), ([1, 2, 4], [3, 5, 6], False), ([1] * 5, [1] * 5, False),
                                  ([4, 5, 6], [1, 2, 3], False), ([1, 2, 3, 4, 9], [5, 6, 7, 8, 9], False)):
            self.assertEqual(clients.surely_longer(plain, auto), sure, (plain, auto))
        orders = list(itertools.combinations(range(7), 3))  # places of the first kind among seven times
        for pairs, count in enumerate(clients.arrangements(3, 4)):
            self.assertEqual(count, sum(pairs == sum(b > a for a in first for b in set(range(7)) - set(first)) for first in orders))

    def test_below_by_more_than_chance(self):
        row = {'plain_ms': [9, 10, 11], 'auto_ms': [12, 13, 14], 'control_ms': [9, 12, 10], 'ratio': .77, 'ratio_control': 1.0}
        self.assertTrue(clients.surely_below(row, .97, 'auto'))
        self.assertFalse(clients.surely_below(row, .97, clients.CONTROL))
        self.assertFalse(clients.surely_below(row, .75, 'auto'))  # times of 9, 9.75, 10.5

    def test_calls_from_the_third_on(self):
        for seconds, mean in (([9.0, 9.0, 1.0, 2.0], 1.5), ([9.0, 8.0], 8.0), ([7.0], 7.0)):
            self.assertEqual(clients.from_third(clients.Process(seconds, [], 0, 0, True)), mean)

    def test_later_calls_are_the_second_half(self):
        self.assertEqual(clients.later(clients.Process([9.0, 9.0, 1.0, 2.0, 3.0], [], 0, 0, True)), (1.0 + 2.0 + 3.0) / 3)

    def test_graph_argument(self):
        graph = clients.Graph('some/road.grb:1000')
        self.assertEqual((graph.path, graph.delta, graph.name, graph.sources), ('some/road.grb', '1000', 'road', 'some/road.sources.mtx'))
        self.assertEqual(clients.Graph('a.mtx').delta, '64')


@unittest.skipUnless(gap_graphs, 'no numpy')
class Graphs(unittest.TestCase):
    def edges_of(self, path):
        """Pairs in the file, with weights, behind the header and 68 bytes of numbers."""
        sizes = clients.Graph(path).sizes()
        with open(path, 'rb') as file:
            numbers = file.read()[gap_graphs.HEADER + 68:]
        at, count = 8 * (sizes['vertices'] + 1), 8 * sizes['entries']
        offsets, columns = (np.frombuffer(part, np.int64) for part in (numbers[:at], numbers[at:at + count]))
        weights = np.frombuffer(numbers[at + count:], np.int32)
        rows = np.repeat(np.arange(sizes['vertices']), np.diff(offsets))
        self.assertEqual(len(weights), sizes['entries'])
        return dict(zip(zip(rows.tolist(), columns.tolist()), weights.tolist()))

    def test_undirected_with_sources_that_have_edges(self):
        for name, vertices in (('kron-7', 128), ('urand-6', 64), ('grid-9', 81)):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                gap_graphs.make(folder, name)
                edges = self.edges_of(os.path.join(folder, name + '.grb'))
                self.assertTrue(all(edges[j, i] == weight and i != j and 0 <= j < vertices for (i, j), weight in edges.items()))
                with open(os.path.join(folder, name + '.sources.mtx'), encoding='ascii') as file:
                    sources = file.read().split()[-gap_graphs.SOURCES:]
                self.assertTrue({int(source) - 1 for source in sources} <= {i for i, _ in edges})


class Running(unittest.TestCase):
    def run_with(self, shell, *arguments):
        """Status, what is printed and the record of a run whose driver does so through Tessera."""
        with tempfile.TemporaryDirectory() as folder:
            driver, graph, path = (os.path.join(folder, name) for name in ('tc_demo', 'g.grb', 'record.jsonl'))
            with open(driver, 'w', encoding='utf-8') as file:
                file.write(SCRIPT.format(shell=shell))
            os.chmod(driver, 0o755)
            with open(graph, 'w', encoding='utf-8') as file:
                file.write('SuiteSparse:GraphBLAS matrix\nnrows:  5   \nncols:  5  \nnvals:  12  \n')
            command = [sys.executable, CLIENTS, '--drivers', folder, '--graphs', graph, '--only', 'tc', '--output', path,
                       '--library', os.path.join(folder, 'none.so'), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            head, rows = record.read(path)
            self.assertEqual(head['schema'], clients.SCHEMA)
            self.assertNotIn(folder, json.dumps(head))
            again = subprocess.run([sys.executable, CLIENTS, '--table', path], capture_output=True, text=True, check=False)
            self.assertIn('geometric mean' if 'ratio' in rows[0] else 'FAILED' if 'failed' in rows[0] else 'cells', again.stdout)
            return done.returncode, done.stdout, rows

    def test_equal(self):
        status, text, rows = self.run_with('true', '--turns', '4', '--jobs', '2')
        self.assertEqual(status, 0, text)
        self.assertEqual([row['threads'] for row in rows], [1, 2])
        for row in rows:
            self.assertEqual((row['plain_ms'], row['auto_ms'], row['ratio'], row['same']), ([4.0] * 4, [4.0] * 4, 1.0, True))
            self.assertEqual((row['vertices'], row['entries'], row['calls']), (5, 12, 2))
        self.assertIn('2 cells, 0 below 0.97, 0 different or failed', text)

    def test_budget_leaves_three_turns(self):
        rows = self.run_with('true', '--turns', '9', '--threads', '1', '--budget', '0')[2]
        self.assertEqual(len(rows[0]['plain_ms']), clients.FEWEST)

    def test_slower(self):
        status, text, rows = self.run_with('time=0.005', '--turns', '3', '--threads', '1')
        self.assertEqual((status, rows[0]['ratio']), (1, .8))
        self.assertIn('1 cells, 1 below 0.97, 0 different or failed', text)
        self.assertEqual(self.run_with('time=0.005', '--turns', '3', '--threads', '1', '--least', '.7')[0], 0)

    def test_without_library_both_are_plain(self):
        self.assertEqual(self.run_with('time=0.005', '--turns', '3', '--threads', '1', '--library', '')[2][0]['ratio'], 1.0)

    def test_control(self):
        status, text, rows = self.run_with('time=0.005', '--turns', '3', '--threads', '1', '--control')
        self.assertEqual((status, rows[0]['ratio'], rows[0]['ratio_control'], rows[0]['control_ms']), (1, .8, 1.0, [4.0] * 3))
        self.assertIn('1 cells, 1 below 0.97 (0 of plain SuiteSparse against itself), 0 different', text)
        self.assertIn('more than chance (rank sums, 5%): 1 (0 of plain SuiteSparse against itself)', text)
        self.assertIn('control 1.00x', text)
        for row, chance in (({'ratio_control': .96}, True), ({'ratio_control': 1.0, 'ratio_control_first': .9}, True), ({'ratio': .9}, False)):
            self.assertEqual(clients.below_by_chance(row, .97), chance, row)

    def test_modes_and_calls(self):
        rows = self.run_with('time=0.008', '--turns', '3', '--threads', '1', '--modes', 'gpu,auto', '--calls', 'tc:1', '--least', '.4')[2]
        row = rows[0]
        self.assertEqual((row['calls'], row['plain_ms'], row['gpu_ms'], row['auto_ms']), (1, [4.0] * 3, [4.0] * 3, [8.0] * 3))
        self.assertEqual((row['auto_head_ms'], row['ratio_third']), ([[8.0]] * 3, 1.0))
        self.assertEqual((row['ratio'], row['ratio_later'], row['ratio_auto'], row['ratio_auto_later']), (1.0, 1.0, .5, .5))

    def test_earlier_runs(self):
        knows = '[ -e "$XDG_CACHE_HOME/known" ] && time=0.002; touch "$XDG_CACHE_HOME/known" 2>/dev/null'
        for options, ratio in ((), 1.0), (('--again',), 2.0):
            self.assertEqual(self.run_with(knows, '--turns', '3', '--threads', '1', *options)[2][0]['ratio'], ratio)

    def test_moved(self):
        writes = 'echo "{\\"bytes_moved\\":$1}" >>$TESSERA_TRACE'
        status, text, rows = self.run_with(f'set -- 5; {writes}; set -- 7; {writes}', '--threads', '1', '--moved', '1')
        self.assertEqual((status, rows[0]['auto_moved_bytes']), (0, [12]), text)
        self.assertIn('auto moved 1.2e-05 MB', text)
        parts = [b'{"bytes_moved":8}\n{"device_ms":1}\n', b'']
        self.assertEqual([clients.moved_in(part) for part in parts], [8, 0])

    def test_different(self):
        status, text, rows = self.run_with('count=8', '--turns', '3', '--threads', '1')
        self.assertEqual((status, rows[0]['same'], rows[0]['answers']), (1, False, {'plain': ['7'], 'auto': ['8']}))
        self.assertIn('DIFFERENT', text)

    def test_fails(self):
        status, text, rows = self.run_with('echo no memory >&2; exit 3', '--turns', '3', '--threads', '1')
        self.assertEqual((status, rows[0]['failed']), (1, 'status 3: no memory'))
        self.assertIn('FAILED', text)

    def test_silent(self):
        rows = self.run_with('sleep 30', '--turns', '3', '--threads', '1', '--silent', '1')[2]
        self.assertEqual(rows[0]['failed'], 'silent for 1 s')


if __name__ == '__main__':
    unittest.main()
