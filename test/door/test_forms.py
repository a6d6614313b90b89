"""The same program plain and through each form of the door prints the same; other libraries are passed through.

usage: test_forms.py CASE, with the paths in the environment: CALLS, CALLS_AHEAD (linked ahead), LIBTESSERA, PROFILER (another library
to preload), REPLACEMENT (folder, may be empty), CALLS_FAKE, FAKES (folder with fake_good, fake_extra, fake_major, fake_says); MAJOR (version of GraphBLAS)
SPDX-License-Identifier: Apache-2.0
"""

import os
import shutil
import subprocess
import sys
import tempfile

PLAIN = {k: v for k, v in os.environ.items() if not k.startswith(('TESSERA_', 'LD_PRELOAD', 'LD_LIBRARY_PATH'))}


def run(command, **variables):
    done = subprocess.run(command, env=dict(PLAIN, **variables), capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout, done.stderr


def require(condition, text):
    if not condition:
        sys.exit(text)


def same(command, **variables):
    expected = run([PLAIN['CALLS']])
    require(expected[0] == 0 and 'finalize 0' in expected[1], 'the plain program fails: %r' % (expected,))
    got = run(command, **variables)
    require(got[:2] == expected[:2], 'with %r: %r instead of %r' % (variables, got, expected))
    return got[2]


def modes(command, **form):
    forced = {'TESSERA_MODE': 'cpu', 'TESSERA_MIN_WORK': '0'}
    for extra in ({}, {'TESSERA_MODE': 'off'}, forced, dict(forced, TESSERA_DEFER='1')):
        same(command, **form, **extra)


def case_preload():
    modes([PLAIN['CALLS']], LD_PRELOAD=PLAIN['LIBTESSERA'])


def case_ahead():
    modes([PLAIN['CALLS_AHEAD']])


def case_replacement():
    require(PLAIN['REPLACEMENT'], 'no replacement was built')
    modes([PLAIN['CALLS']], LD_LIBRARY_PATH=PLAIN['REPLACEMENT'])


def case_two_doors():
    same([PLAIN['CALLS']], LD_PRELOAD=PLAIN['LIBTESSERA'], LD_LIBRARY_PATH=PLAIN['REPLACEMENT'])


def case_profiler():
    """Between a library that is preloaded before it and the real one, each call passes once."""
    forced = {'TESSERA_MODE': 'cpu', 'TESSERA_MIN_WORK': '0'}
    said = [same([PLAIN['CALLS']], LD_PRELOAD=PLAIN['PROFILER'] + tessera, **forced) for tessera in ('', ':' + PLAIN['LIBTESSERA'])]
    require('profiler: 0' not in said[0] and said[0] == said[1], said)


def case_check():
    forced = {'TESSERA_MODE': 'cpu', 'TESSERA_MIN_WORK': '0'}
    for extra in ({}, forced, dict(forced, TESSERA_DEFER='1')):
        text = same([PLAIN['CALLS']], LD_PRELOAD=PLAIN['LIBTESSERA'], TESSERA_CHECK='1', **extra)
        require(' 0 changes without a write hook' in text, text)
        require(int(text.split('CHECK: ')[1].split()[0]) > 1000, 'nothing was checked: ' + text)


def case_check_is_sensitive():
    for family in ('GrB_mxm', 'GrB_Matrix_setElement', 'GxB_Matrix_concat', 'GxB_Matrix_unpack', 'GrB_Vector_apply'):
        text = same([PLAIN['CALLS']], LD_PRELOAD=PLAIN['LIBTESSERA'], TESSERA_CHECK='1', TESSERA_CHECK_BLIND=family)
        require('CHECK: %s' % family in text, 'blind to %s: %s' % (family, text))
        require(' 0 changes' not in text, text)


def case_missing():
    code, out, text = run([PLAIN['CALLS_FAKE']], LD_PRELOAD=PLAIN['LIBTESSERA'])
    require(code == 0 and out.split('\n')[:4] == ['init -101', 'mxm -101', 'nvals -101', 'value 0'], (code, out))
    require(text.count('\n') == 1 and 'no SuiteSparse:GraphBLAS is loaded' in text, text)


def case_door_file_missing():
    """A version that has a door, whose file is not there: the file and both folders are named, with the core and without."""
    where = os.path.dirname(PLAIN['LIBTESSERA'])
    core = os.path.join(where, '..', '..', 'libtessera-core.so.0')
    for beside in ([], [core]):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            for file in [PLAIN['LIBTESSERA'], *beside]:
                shutil.copy(file, folder)
            text = same([PLAIN['CALLS']], LD_PRELOAD=os.path.join(folder, os.path.basename(PLAIN['LIBTESSERA'])))
            require(text.count('\n') == 1 and f'libtessera-door{PLAIN["MAJOR"]}.so for' in text, text)
            require(f'in {folder}/tessera or {folder}: everything is passed through' in text, text)


def fake(name):
    library = os.path.join(PLAIN['FAKES'], name + '.so')
    return run([PLAIN['CALLS_FAKE']], LD_PRELOAD=PLAIN['LIBTESSERA'] + ':' + library)


def case_fake_of_this_version():
    """GrB_init is served by GxB_init; a function that the library lacks is named."""
    code, out, text = fake('fake_good')
    require(code == 0 and out.split('\n')[:4] == ['init 0', 'mxm 55', 'nvals -101', 'value 0'], (code, out))
    require('has no GrB_Matrix_nvals' in text and 'passed through' not in text, text)


def case_other_versions_pass_through():
    for name, first in (('fake_major', 'init 77'), ('fake_says', 'init 0')):
        code, out, text = fake(name)
        require(code == 0 and out.split('\n')[:2] == [first, 'mxm 55'], (name, code, out))
        require(text.count('everything is passed through') == 1, (name, text))


def case_unknown_function():
    """A newer minor version: one line says that nothing is kept."""
    code, out, text = fake('fake_extra')
    require(code == 0 and out.split('\n')[:2] == ['init 0', 'mxm 55'], (code, out))
    require(text.count('nothing is kept between two calls') == 1 and 'GxB_Matrix_unheard_of' in text, text)


if __name__ == '__main__':
    globals()['case_' + sys.argv[1]]()
