#!/usr/bin/env python3
"""`tessera run` and `tessera info` with each way in which a program gets its GraphBLAS: linked, in a prefix as conda's, through a Python
module there, by a mangled name as in a wheel, by the handle of a library that it opens itself, as Julia and ctypes do.

usage: test_layouts.py TESSERA BY_HANDLE LINKED EXTENSION NEXT LIBGRAPHBLAS      (LINKED has the RPATH $ORIGIN/../lib, EXTENSION, a module,
$ORIGIN/../../..)
SPDX-License-Identifier: Apache-2.0"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TESSERA, BY_HANDLE, LINKED, EXTENSION, NEXT, LIBRARY = sys.argv[1:7]


def environment(folder):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(('TESSERA_', 'LD_'))}
    return dict(clean, HOME=str(folder), XDG_CONFIG_HOME=str(folder))


class Layouts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.prefix = self.folder / 'prefix'
        for name in ('bin', 'lib'):
            (self.prefix / name).mkdir(parents=True)
        self.library = self.prefix / 'lib' / pathlib.Path(LIBRARY).name
        shutil.copy(os.path.realpath(LIBRARY), self.library)

    def run_it(self, *command, **more):
        done = subprocess.run(command, env={**environment(self.folder), **more}, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''), command)
        return done.stdout

    def through_tessera(self, *command):
        """What it prints, and the routes of its products."""
        trace = self.folder / 'trace'
        printed = self.run_it(TESSERA, 'run', '--mode=cpu', '--min-work=0', f'--trace={trace}', '--', *command)
        return printed, [json.loads(line)['route'] for line in trace.read_text().splitlines()] if trace.exists() else []

    def check(self, *command):
        printed, routes = self.through_tessera(*command)
        self.assertEqual(printed, self.run_it(*command))
        self.assertTrue(any(route.startswith('cpu:') for route in routes), routes)

    def test_opened_by_path(self):
        self.check(BY_HANDLE, str(self.library))

    def test_opened_by_a_mangled_name(self):
        name = self.library.name.split('.so', 1)
        mangled = self.library.rename(self.library.with_name(f'{name[0]}-0123abcd.so{name[1]}'))
        self.check(BY_HANDLE, str(mangled))

    def test_ctypes(self):
        script = f'''
import ctypes
lib = ctypes.CDLL({str(self.library)!r})
def value(name):
    return ctypes.c_void_p.in_dll(lib, name)
def matrix(rows, columns):
    made = ctypes.c_void_p()
    assert lib.GrB_Matrix_new(ctypes.byref(made), value("GrB_FP64"), ctypes.c_uint64(rows), ctypes.c_uint64(columns)) == 0
    return made
lib.GrB_init(0)
a, b, c = matrix(60, 60), matrix(60, 8), matrix(60, 8)
for i in range(60):
    lib.GrB_Matrix_setElement_FP64(a, ctypes.c_double(i), ctypes.c_uint64(i), ctypes.c_uint64(7 * i % 60))
    for j in range(8):
        lib.GrB_Matrix_setElement_FP64(b, ctypes.c_double(i + j), ctypes.c_uint64(i), ctypes.c_uint64(j))
assert lib.GrB_mxm(c, None, None, value("GrB_PLUS_TIMES_SEMIRING_FP64"), a, b, None) == 0
total = ctypes.c_double()
assert lib.GrB_Matrix_reduce_FP64(ctypes.byref(total), None, value("GrB_PLUS_MONOID_FP64"), c, None) == 0
print(total.value)
'''
        self.check(sys.executable, '-c', script)

    def linked(self):
        program = self.prefix / 'bin' / 'program'
        shutil.copy(LINKED, program)
        return str(program)

    def test_prefix(self):
        program = self.linked()
        self.check(program)
        said = self.run_it(TESSERA, 'info', '--', program)
        self.assertRegex(said, r'libtessera-door\d+\.so')
        self.assertRegex(said, r'products are taken +yes')
        # A build against a GraphBLAS outside of the system's folders looks there before it looks beside the program.
        loaded = re.search(r'libgraphblas\S* => (\S+)', self.run_it('ldd', program))[1]
        self.assertEqual(os.path.realpath(re.search(r'GraphBLAS +(.*)', said)[1]), os.path.realpath(loaded))

    def package(self):
        """Its folder in site-packages: the library is three above, where the module looks for it."""
        site = self.prefix / 'lib' / f'python{sys.version_info.major}.{sys.version_info.minor}' / 'site-packages'
        package = site / 'suitesparse_graphblas'
        package.mkdir(parents=True)
        (package / '__init__.py').write_text('')
        return package, shutil.copy(EXTENSION, package / '_graphblas.abi3.so')

    def test_python_module_in_a_prefix(self):
        _, module = self.package()
        self.check(sys.executable, '-c', f'''
import ctypes
module = ctypes.CDLL({str(module)!r})
module.product.restype = ctypes.c_double
value = module.product()
assert value > 0
print(value)
''')

    def test_info_of_a_python_module_in_a_prefix(self):
        package, module = self.package()
        said = self.run_it(TESSERA, 'info', '--', sys.executable, 'script.py', PYTHONPATH=str(package.parent))
        loaded = re.search(r'libgraphblas\S* => (\S+)', self.run_it('ldd', str(module)))[1]
        self.assertEqual(os.path.realpath(re.search(r'GraphBLAS +(.*)', said)[1]), os.path.realpath(loaded))
        self.assertRegex(said, r'libtessera-door\d+\.so')
        self.assertRegex(said, r'products are taken +yes')

    def test_info_looks_for_doors_where_the_preloaded_library_does(self):
        program, told = self.linked(), self.run_it(TESSERA, 'info', '--library').strip()
        door = re.search(r'door +(\S+)', self.run_it(TESSERA, 'info', '--', program))[1]
        build = self.folder / 'build'
        (build / 'tools').mkdir(parents=True)
        (build / 'src' / 'graphblas').mkdir(parents=True)
        tool = shutil.copy(TESSERA, build / 'tools')
        core = {'LD_LIBRARY_PATH': str(pathlib.Path(told).parents[2])}
        library = pathlib.Path(shutil.copy(told, self.prefix / 'lib' / 'libtessera.so'))
        (build / 'src' / 'graphblas' / 'libtessera.so').symlink_to(library)
        shutil.copy(door, build / 'src' / 'graphblas')  # not there
        said = self.run_it(tool, 'info', '--', program, **core)
        self.assertRegex(said, f'products are taken +no: libtessera-door.* neither in {library.parent}/tessera nor in {library.parent},')
        for folder in (library.parent, library.parent / 'tessera'):
            folder.mkdir(exist_ok=True)
            there = shutil.copy(door, folder)
            said = self.run_it(tool, 'info', '--', program, **core)
            self.assertIn(there, said)
            self.assertRegex(said, 'products are taken +yes')

    def test_what_is_next_stays_so(self):
        script = 'import os; print(os.getppid() > 0)'
        self.assertEqual(self.run_it(TESSERA, 'run', '--', sys.executable, '-c', script, LD_PRELOAD=NEXT), 'True\n')

    def test_info_of_a_program_that_opens_it_later(self):
        self.assertIn('if it loads a GraphBLAS later', self.run_it(TESSERA, 'info', '--', BY_HANDLE))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
