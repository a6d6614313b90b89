#!/usr/bin/env python3
"""What a newcomer reads first: README is a page, says when it does not help before it says how to install, and shows what it promises;
commands of the docs use no variable that nobody set; manual pages have examples.

usage: test_readme.py     SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / 'README.md').read_text(encoding='utf-8')
# Set by whoever logs in, or by what a page has just told to install.
KNOWN = {'HOME', 'PATH', 'PWD', 'USER', 'LD_LIBRARY_PATH', 'LD_PRELOAD', 'PYTHONPATH', 'PKG_CONFIG_PATH', 'PETSC_DIR', 'PETSC_ARCH', 'PETSC_OPTIONS'}


class Readme(unittest.TestCase):
    def test_it_is_a_page(self):
        self.assertLess(README.count('\n'), 130)
        rows = [line for line in README.splitlines() if line.startswith('|')]
        self.assertLess(len(rows), 35)
        words, picture = README.split('\n\n')[1:3]
        self.assertEqual(len(re.findall(r'\.(?=\s|$)', words)), 1, 'one sentence first')
        self.assertTrue(picture.startswith('!['), 'then a picture')

    def test_three_lines_and_what_they_print(self):
        block = re.search(r'## Try it.*?```sh[^\n]*\n(.*?)```', README, re.S)[1]
        self.assertEqual(len(block.splitlines()), 3)
        self.assertIn('```text', README.split('## When will it help me?')[0])

    def test_limits_before_installing(self):
        sections = re.findall(r'^## (.*)', README, re.M)
        self.assertLess(sections.index('When will it help me?'), sections.index('Install'))

    def test_six_programs(self):
        table = re.search(r'<!-- table of programs.*?<!-- end -->', README, re.S)[0]
        self.assertEqual(len(re.findall(r'^\|', table, re.M)), 2 + 6)


class Commands(unittest.TestCase):
    def test_no_variable_that_nobody_set(self):
        for page in (ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))):
            text = page.read_text(encoding='utf-8')
            commands = '\n'.join(re.findall(r'```sh[^\n]*\n(.*?)```', text, re.S))
            used = set(re.findall(r'\$\{?([A-Z][A-Z_0-9]*)', commands))
            given = set(re.findall(r'(?m)(?:^|[\s;])(?:export )?([A-Z][A-Z_0-9]*)=', commands))
            self.assertLessEqual(used, given | KNOWN, page)


class Manual(unittest.TestCase):
    def test_examples(self):
        for page in (ROOT / 'docs' / 'man').glob('*.[15]'):
            examples = page.read_text(encoding='utf-8').partition('.SH EXAMPLES')[2].partition('.SH ')[0]
            self.assertIn('.nf', examples, page)


if __name__ == '__main__':
    unittest.main()
