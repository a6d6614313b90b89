#!/usr/bin/env python3
"""tools/check.sh: how long each part took is said; more than the budget is a warning, not a failure; a failure is one.

usage: test_check.py     SPDX-License-Identifier: Apache-2.0"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ('install_deps.sh', 'check_layers.py', 'check_install.sh', 'check_docs.py', 'check_graphblas.sh')
# Builds and tests that take no time: one test passes each time.
MESON = """#!/bin/sh
case "$1 $3" in
'introspect '*) echo '[]' ;;
'test '*) echo '{"name": "t", "result": "'${RESULT:-OK}'"}' >"$3/meson-logs/testlog.json" ;;
'setup '*) for word; do case $word in build-*) mkdir -p "$word/meson-logs" ;; esac; done ;;
esac
"""


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / 'tools/scripts').mkdir(parents=True)
        for name in ('tools/check.sh', 'tools/scripts/count_tests.py'):
            shutil.copy(ROOT / name, self.root / name)
        stubs = ['tools/check_petsc.sh', 'tools/demo.sh', 'bin/ninja', 'bin/nproc', *('tools/scripts/' + name for name in SCRIPTS),
                 *('build-clang/test/fuzz/fuzz_' + name for name in ('mm', 'config', 'model'))]
        for name, text in [('bin/meson', MESON), *((name, '#!/bin/sh\n') for name in stubs)]:
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding='ascii')
            file.chmod(0o755)

    def check(self, **environment):
        variables = {**os.environ, 'PATH': f"{self.root / 'bin'}:{os.environ['PATH']}", **environment}
        return subprocess.run([self.root / 'tools/check.sh'], env=variables, capture_output=True, text=True, timeout=60, check=False)

    def test_seconds_of_parts(self):
        lines = self.check(CHECK_BUDGET='900').stdout.splitlines()
        self.assertRegex(lines[-1], r'^\d+ passed, \d+ failed$')
        parts = re.fullmatch(r'seconds on .*?cores: (.*)', lines[-2])[1]
        for part in ('compile', 'suites', 'docs', 'PETSc', 'another GraphBLAS', 'valgrind', 'address sanitizer', 'thread sanitizer', 'clang'):
            self.assertIn(part, parts)
        self.assertNotIn('WARNING', '\n'.join(lines))

    def test_more_than_the_budget_is_no_failure(self):
        done = self.check(CHECK_BUDGET='-1')
        self.assertRegex(done.stdout, r'(?m)^WARNING: \d+ s are more than the budget')
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_failed_test_is_a_failure(self):
        done = self.check(RESULT='FAIL')
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout, 'all suites: 0 passed, 1 failed')


if __name__ == '__main__':
    unittest.main()
