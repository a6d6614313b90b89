#!/usr/bin/env python3
"""A command whose last run would have gained on a GPU finds it running from its beginning; one that no longer gains does not.

usage: test_early_start.py LIBRARY PLUGIN PROGRAM     (PROGRAM: examples/gcn; PLUGIN: the emulated one)     SPDX-License-Identifier: Apache-2.0"""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

LIBRARY, PLUGIN, PROGRAM = map(os.path.abspath, sys.argv[1:4])
GAINS, DOES_NOT = (60000, 700000), (100, 300)  # vertices, edges


def write_graph(path, vertices, edges):
    rng = random.Random(1)
    with open(path, 'w', encoding='ascii') as file:
        file.write(f'%%MatrixMarket matrix coordinate pattern general\n{vertices} {vertices} {edges}\n')
        file.writelines(f'{rng.randint(1, vertices)} {rng.randint(1, vertices)}\n' for _ in range(edges))


class EarlyStart(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.graph = os.path.join(self.folder, 'graph.mtx')
        self.table = os.path.join(self.folder, 'cache', 'tessera', 'starts')

    def run_it(self, layers=3, **settings):
        """How many products there were before one on the GPU."""
        trace = os.path.join(self.folder, 'trace')
        kept = {name: value for name, value in os.environ.items() if not name.startswith('TESSERA_')}
        env = {**kept, 'LD_PRELOAD': LIBRARY, 'TESSERA_PLUGIN_DIR': os.path.dirname(PLUGIN), 'TESSERA_TRACE': trace, 'XDG_CACHE_HOME': os.path.join(self.folder, 'cache'),
               'OMP_NUM_THREADS': '2', **settings}
        subprocess.run([PROGRAM, f'--iterations={layers}', self.graph], env=env, check=True, stdout=subprocess.DEVNULL, timeout=200)
        with open(trace, encoding='utf-8') as file:
            records = [json.loads(line) for line in file if line.strip()]
        os.remove(trace)
        routes = [record['route'] for record in records if record.get('call') == 'GrB_mxm']
        return next((k for k, route in enumerate(routes) if route.startswith('cuda')), len(routes))

    def keys(self):
        if not os.path.exists(self.table):
            return 0
        with open(self.table, 'rb') as file:
            content = file.read()
        return sum(any(content[k:k + 8]) for k in range(0, len(content), 8))

    def test_the_next_run_of_a_command_that_gained(self):
        write_graph(self.graph, *GAINS)
        first = self.run_it()
        self.assertEqual(self.keys(), 1)
        self.assertEqual(os.stat(self.table).st_mode & 0o777, 0o600)
        early = self.run_it()
        self.assertLess(early, first)
        self.assertGreater(self.run_it(TESSERA_DISABLE='early_start'), early)
        self.assertGreater(self.run_it(layers=2), early)  # another command
        write_graph(self.graph, *DOES_NOT)
        kept = self.keys()
        self.run_it()
        self.assertEqual(self.keys(), kept - 1)

    def test_a_command_that_gains_nothing(self):
        write_graph(self.graph, *DOES_NOT)
        self.run_it()
        self.assertEqual(self.keys(), 0)

    def test_nothing_is_written_where_it_must_not(self):
        write_graph(self.graph, *DOES_NOT)
        os.makedirs(os.path.dirname(self.table))
        os.symlink(self.graph, self.table)
        before = os.stat(self.graph)
        self.run_it()
        self.assertEqual(os.stat(self.graph).st_mtime_ns, before.st_mtime_ns)
        self.run_it(XDG_CACHE_HOME='relative', HOME='/nonexistent')
        self.assertFalse(os.path.exists('relative'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
