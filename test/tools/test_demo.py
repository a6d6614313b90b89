#!/usr/bin/env python3
"""tools/demo.sh: what is wrong with its arguments is said before anything is installed or compiled; what its parts make of results.

usage: test_demo.py     SPDX-License-Identifier: Apache-2.0"""
import gzip
import html.parser
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools' / 'scripts'))
import demo_page  # pylint: disable=wrong-import-position

ROWS = [{'program': 'triangles', 'step': 'triangles', 'plain_ms': 4000.0, 'tessera_ms': 250.0, 'ratio': 16.0, 'difference': 0, 'route': 'cpu:masked_dot_csr'},
        {'program': 'bfs', 'step': 'bfs <&>', 'plain_ms': 0.9, 'tessera_ms': 1.2, 'ratio': .75, 'difference': 0, 'route': 'suitesparse ×7'}]


def demo(*arguments):
    """With a build folder that cannot be made: whoever gets that far fails in another way."""
    return subprocess.run([ROOT / 'tools' / 'demo.sh', *arguments], env={**os.environ, 'BUILD': '/dev/null/build'}, capture_output=True, text=True,
                          timeout=20, check=False)


class Arguments(unittest.TestCase):
    def refused(self, code, said, *arguments):
        done = demo(*arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count('\n')), (code, '', 1), done)
        self.assertIn(said, done.stderr)

    def test_a_file_is_looked_at_first(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'graph.mtx')
            self.refused(1, 'no such file', str(path))
            self.refused(1, 'a directory', folder)
            path.write_text('1 2\n2 3\n', encoding='ascii')
            self.refused(1, 'not a Matrix Market file', str(path))
            packed = pathlib.Path(folder, 'graph.mtx.gz')
            packed.write_bytes(gzip.compress(b'1 2\n'))
            self.refused(1, 'not a Matrix Market file', str(packed))
            self.refused(1, 'no such folder', '--html=' + str(path / 'page.html'))

    def test_options(self):
        self.refused(2, "no option '--fast'", '--fast')
        self.refused(2, 'one graph file', str(ROOT / 'README.md'), str(ROOT / 'LICENSE'))
        self.assertIn('--html=PAGE.html', demo('--help').stdout)


# Programs of a build folder that is not there: 60 ms plain, 20 ms through `tessera run`.
PROGRAM = """#!/bin/sh
[ -n "$THROUGH" ] && ms=20 || ms=60
echo "step ${0##*/} $ms"
echo "answer 1"
case "$1" in --against) echo "difference ${0##*/} $DIFFERENCE" ;; esac
"""
LAUNCHER = """#!/bin/sh
while [ "$1" != -- ]; do shift; done; shift
if [ -n "$TESSERA_TRACE" ]; then echo '{"route":"cpu:masked_dot_csr"}'; fi
THROUGH=1 exec "$@"
"""
NINJA = """#!/bin/sh
if [ "$3" = -t ]; then for name in $NAMES; do echo "examples/$name: phony"; done; else echo "[1/57] Compiling a"; echo "[57/57] Linking b"; fi
"""


class Whole(unittest.TestCase):
    """demo.py with such a folder."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        source = (ROOT / 'tools' / 'scripts' / 'demo.py').read_text(encoding='utf-8')
        self.names = re.search(r"PROGRAMS = \(([^)]*)\)", source)[1].replace("'", '').replace(',', ' ').split()
        for path, text in [('ninja', NINJA), ('tools/tessera', LAUNCHER), *(('examples/' + name, PROGRAM) for name in self.names)]:
            file = pathlib.Path(self.folder.name, path)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding='ascii')
            file.chmod(0o755)

    def run_demo(self, *arguments, difference='0', **options):
        environment = {**os.environ, 'BUILD': self.folder.name, 'PATH': f"{self.folder.name}:{os.environ['PATH']}", 'NAMES': ' '.join(self.names),
                       'DIFFERENCE': difference, 'TERM': 'xterm'}
        environment.pop('NO_COLOR', None)
        return subprocess.run([sys.executable, ROOT / 'tools' / 'scripts' / 'demo.py', *arguments], env=environment, text=True, timeout=100, check=False,
                              **{'capture_output': True, **options})

    def on_terminal(self, *arguments):
        """Standard output and standard error of a terminal."""
        main, terminal = pty.openpty()
        self.run_demo(*arguments, capture_output=False, stdout=terminal, stderr=terminal)
        os.close(terminal)
        text = b''
        try:
            while piece := os.read(main, 4096):
                text += piece
        except OSError:  # the other end is closed
            pass
        os.close(main)
        return text.decode()

    def test_karate_is_a_line_and_the_end_a_sentence(self):
        page = os.path.join(self.folder.name, 'page.html')
        done = self.run_demo('--html=' + page, 'karate', 'rmat:16')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(len(re.findall(r'(?m)^Karate club .* answers as without Tessera', done.stdout)), 1)
        self.assertEqual(done.stdout.count('3.00x ████'), len(self.names))  # a bar for each, none of the karate club
        self.assertRegex(done.stdout, f'{len(self.names)} timed steps: 3.0 times as fast in the geometric mean')
        self.assertRegex(done.stdout.splitlines()[-1], '^Next: .*tessera run -- ./your-program')
        self.assertTrue(os.path.getsize(page))

    def test_a_wrong_answer_is_an_error(self):
        done = self.run_demo('karate', difference='.1')
        self.assertEqual((done.returncode, 'DIFFER' in done.stdout, done.stderr.count('\n')), (1, True, 1))

    def test_progress_and_colour_on_terminals_only(self):
        seen = self.on_terminal('rmat:16')
        for wanted in ('Compiling [1/57]', 'Compiling [57/57]', 'turn 1 of 3, plain', '\033[32m'):
            self.assertIn(wanted, seen)
        self.assertNotIn('\033', self.run_demo('rmat:16').stdout)


class Page(unittest.TestCase):
    def test_one_page_with_every_step(self):
        with tempfile.NamedTemporaryFile('r', suffix='.html') as file:
            demo_page.write(file.name, [{'graph': 'R-MAT 16', 'rows': ROWS, 'answers': ['triangles 45']}], 'Words & more.')
            page = file.read()
        html.parser.HTMLParser().feed(page)
        for wanted in ('R-MAT 16', '16.00×', '4,000.00 ms', 'bfs &lt;&amp;&gt;', 'Words &amp; more.', 'triangles 45', 'prefers-color-scheme: dark'):
            self.assertIn(wanted, page)
        for outside in ('http:', 'https:', '<link', 'src=', '@import', 'url('):
            self.assertNotIn(outside, page)


if __name__ == '__main__':
    unittest.main()
