#!/usr/bin/env python3
"""tools/demo.sh: what is wrong with its arguments is said before anything is installed or compiled; what its parts make of results.

usage: test_demo.py     SPDX-License-Identifier: Apache-2.0"""
import gzip
import html.parser
import os
import pathlib
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
