#!/usr/bin/env python3
"""`tessera run`: the line at exit, where it is said and where not; the page of --report; the summary's times.

usage: test_saved.py TESSERA PROGRAM     (PROGRAM: examples/triangles)     SPDX-License-Identifier: Apache-2.0"""
import html.parser
import os
import pty
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

TESSERA, PROGRAM = sys.argv[1:3]
GRAPH = 'rmat:10'
FORCED = ('--mode=cpu', '--min-work=0')
LINE = re.compile(r'^tessera: \d+ of \d+ products computed here, (about [\d.]+ m?s saved \([\d.]+×\)|no time to speak of saved)$', re.M)


def environment():
    return {**{name: value for name, value in os.environ.items() if not name.startswith('TESSERA_')}, 'HOME': '/nonexistent'}


def run(*arguments):
    return subprocess.run([TESSERA, 'run', *arguments], env=environment(), capture_output=True, text=True, timeout=100, check=False)


def on_terminal(*arguments):
    """What a user sees whose standard error is a terminal."""
    main, terminal = pty.openpty()
    with subprocess.Popen([TESSERA, 'run', *arguments], env=environment(), stdout=subprocess.DEVNULL, stderr=terminal) as child:
        os.close(terminal)
        text = b''
        try:
            while piece := os.read(main, 4096):
                text += piece
        except OSError:  # the other end is closed
            pass
        child.wait()
    os.close(main)
    return text.decode().replace('\r\n', '\n')


class Line(unittest.TestCase):
    def test_said_on_a_terminal_only(self):
        said = on_terminal(*FORCED, '--', PROGRAM, GRAPH)
        self.assertRegex(said, LINE)
        self.assertEqual(said.count('\n'), 1)
        self.assertEqual(run(*FORCED, '--', PROGRAM, GRAPH).stderr, '')
        self.assertEqual(on_terminal(*FORCED, '--quiet', '--', PROGRAM, GRAPH), '')
        self.assertEqual(on_terminal('--', 'true'), '')  # no GraphBLAS at all

    def test_other_verbosity_is_another_answer(self):
        said = on_terminal(*FORCED, '--verbose=1', '--', PROGRAM, GRAPH)
        self.assertIn('summary of process', said)
        self.assertNotIn('products computed here', said)

    def test_the_answer_is_the_same(self):
        plain = subprocess.run([PROGRAM, GRAPH], env=environment(), capture_output=True, text=True, check=True).stdout
        ours = run(*FORCED, '--savings=1', '--', PROGRAM, GRAPH)
        self.assertRegex(ours.stderr, LINE)
        answers = [[line for line in text.splitlines() if not line.startswith(('step', 'answer'))] for text in (plain, ours.stdout)]
        self.assertEqual(answers[0], answers[1])


class Estimate(unittest.TestCase):
    def test_it_is_near_what_was_saved(self):
        """CPU times of one thread, which a busy machine changes little."""
        def took(*launcher):
            done = subprocess.run([*launcher, PROGRAM, '--cpu-time', 'rmat:14'], env={**environment(), 'OMP_NUM_THREADS': '1'}, capture_output=True,
                                  text=True, check=True, timeout=100)
            return sum(float(line.split()[2]) for line in done.stdout.splitlines() if line.startswith('step')), done.stderr
        real = statistics.median(took()[0] - took(TESSERA, 'run', '--mode=cpu', '--')[0] for _ in range(3))
        said = statistics.median(float(re.search(r'about ([\d.]+) ms saved', took(TESSERA, 'run', '--mode=cpu', '--savings=1', '--')[1])[1]) for _ in range(3))
        self.assertGreater(said, real / 2)
        self.assertLess(said, 2 * real)


class Summary(unittest.TestCase):
    def test_forwarded_calls_have_times(self):
        said = run('--verbose=1', '--min-work=1e18', '--', PROGRAM, GRAPH).stderr
        times = [float(ms) for ms in re.findall(r'suitesparse +\d+ calls +([\d.]+) ms', said)]
        self.assertTrue(times and all(times), said)
        self.assertRegex(said, r'forwarded +\d+ calls +\d*\.\d*[1-9]\d* ms: below min_work')
        self.assertNotIn('#', said)

    def test_the_longest_first(self):
        said = run('--verbose=1', *FORCED, '--', PROGRAM.replace('triangles', 'gcn'), GRAPH).stderr
        times = [float(ms) for ms in re.findall(r'^tessera: +GrB_\w+ .* calls +([\d.]+) ms$', said, re.M)]
        self.assertGreater(len(times), 2, said)
        self.assertEqual(times, sorted(times, reverse=True), said)


class Page(unittest.TestCase):
    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'page.html')
            done = run(*FORCED, '--report=' + path, '--', PROGRAM, GRAPH)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding='utf-8') as file:
                page = file.read()
        html.parser.HTMLParser().feed(page)
        for wanted in ('calls computed by Tessera', 'masked_dot_csr', 'Left to SuiteSparse', 'prefers-color-scheme: dark', '<svg'):
            self.assertIn(wanted, page)
        for outside in ('http:', 'https:', '<link', 'src=', '@import', 'url('):
            self.assertNotIn(outside, page)

    def test_exit_codes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'page.html')
            self.assertEqual(run('--report=' + path, '--', 'sh', '-c', 'exit 37').returncode, 37)
            self.assertEqual(run('--report=' + path, '--', 'sh', '-c', 'kill -9 $$').returncode, 137)
            self.assertEqual(run('--report=' + path, '--', 'no-such-program').returncode, 127)
            with open(path, encoding='utf-8') as file:
                self.assertIn('of a shared libgraphblas', file.read())
            refused = run('--report=/nonexistent/page.html', '--', PROGRAM, GRAPH)
            self.assertEqual((refused.returncode, refused.stdout, refused.stderr.count('\n')), (73, '', 1))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
