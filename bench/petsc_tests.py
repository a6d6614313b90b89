#!/usr/bin/env python3
"""PETSc's and SLEPc's own programs, plain and through the plug-in: the same output?  Prints a record (record.py), a row for each program,
arguments and number of processes: exit statuses, whether output is equal, the products that reached us.

usage: petsc_tests.py PLUGIN [--processes 1,2,3] [--under COMMAND] [--variants 1] [--names REGEX] SOURCE.c…

PLUGIN is libtessera_petsc.so; the sources are those of Debian's source package petsc, or of slepc-dev's examples.  Arguments are those of the
first tests in a source that need no package of their own.  COMMAND, such as "valgrind -q --error-exitcode=99", runs the programs that have
the plug-in.
SPDX-License-Identifier: Apache-2.0"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import record

PRODUCTS = re.compile(r'MatMatMult|MatProduct|MatTransposeMatMult|MatMatTransposeMult|KSPMatSolve|BVMatMult|MatPtAP|(?i:lobpcg|subspace)')
NEEDS = re.compile(r'requires:.*(cuda|hip|kokkos|viennacl|datafiles|DATA|mkl|complex|hypre|metis|elemental|single|64bit|__float|matlab|elpa|'
                   r'p4est|ctetgen|triangle|hpddm|adolc|magma|suitesparse|superlu|mumps)')
NOISE = re.compile(r'WARNING! There are options|Option left|no options left')
VIEW = re.compile(r'Tessera \S+ in PETSc|  rows of dense matrices that travelled|  none of sparse and dense matrices reached it|  (.*?) +\d+ (computed|left to PETSc)')
SETTINGS = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', 'OMPI_MCA_rmaps_base_oversubscribe': '1',
            'OMPI_MCA_hwloc_base_binding_policy': 'none', 'OMPI_MCA_mpi_yield_when_idle': '1', 'OPENBLAS_NUM_THREADS': '1',
            'OMP_NUM_THREADS': '1'}


def variants(text, most):
    """Argument lists of the tests that a source describes; the first choice of {{each group}}."""
    found = re.search(r'/\*TEST(.*?)TEST\*/', text, re.S)
    lines = ['']
    for block in re.split(r'\n\s*(?:test|testset):', found.group(1))[1:] if found else []:
        line = re.sub(r'\{\{(.*?)\}[^}]*\}', lambda group: (group.group(1).split() or [''])[0], ' '.join(re.findall(r'args:\s*(.*)', block)))
        if not NEEDS.search(block) and '$' not in line and line not in lines:
            lines.append(line)
    return lines[1:most + 1] if len(lines) > 1 else lines


def build(source, where):
    """A program, or None where it does not compile here."""
    program = os.path.join(where, re.sub(r'\W', '_', '_'.join(source.split(os.sep)[-4:])[:-2]))
    packages = ['slepc', 'petsc'] if 'slepc' in open(source, encoding='utf-8', errors='replace').read() else ['petsc']
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', *packages], capture_output=True, text=True, check=True).stdout.split()
    done = subprocess.run(['mpicc', '-O1', '-w', source, '-o', program, *flags, '-lm'], capture_output=True, check=False)
    return program if done.returncode == 0 else None


def run(words, where, limit):
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors='replace', timeout=limit, cwd=where, check=False,
                              stdin=subprocess.DEVNULL, env=os.environ | SETTINGS)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return 'timeout', ''


def split(output, processes):
    """What the program says, the lines of several processes in any order, and the products that -tessera_view says were ours."""
    said = [line for line in output.splitlines() if not NOISE.search(line) and not VIEW.match(line)]
    reached = [found[1] for line in output.splitlines() if (found := VIEW.match(line)) and found[2] == 'computed']
    return sorted(said) if processes > 1 else said, reached


def compare(program, arguments, processes, options, where):
    launch = ['mpirun', '-n', str(processes)] if processes > 1 else []
    plain_status, plain = run([*launch, program, *arguments], where, options.limit)
    ours = ['-dll_append', os.path.abspath(options.plugin), '-tessera_rebind', '-tessera_view', '-tessera_min_columns', '1']
    our_status, our = run([*launch, *shlex.split(options.under), program, *arguments, *ours], where, options.limit)
    said, reached = split(our, processes)
    return {'program': os.path.basename(program), 'arguments': ' '.join(arguments), 'processes': processes,
            'statuses': [plain_status, our_status], 'lines': len(said),
            'equal': plain_status == our_status and split(plain, processes)[0] == said, 'reached': reached}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('plugin')
    parser.add_argument('--processes', default='1,2,3')
    parser.add_argument('--under', default='')
    parser.add_argument('--variants', type=int, default=1)
    parser.add_argument('--names', default='')
    parser.add_argument('--limit', type=float, default=300)
    parser.add_argument('sources', nargs='+')
    options = parser.parse_args()
    print(json.dumps(record.header('petsc-tests/1', ['bench/petsc_tests.py', options.under], uses_gpu=False)), flush=True)
    with tempfile.TemporaryDirectory() as where:
        for source in options.sources:
            text = open(source, encoding='utf-8', errors='replace').read()
            program = PRODUCTS.search(text) and re.search(options.names, source) and build(source, where)
            for line in variants(text, options.variants) if program else []:
                for processes in options.processes.split(','):
                    print(json.dumps(compare(program, shlex.split(line), int(processes), options, where)), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
