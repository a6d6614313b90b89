"""What GraphBLAS has from version 10 on, plain and through Tessera: the same lines, and products taken.

usage: test_graphblas10.py          (with the python of an environment that has tessera and suitesparse-graphblas 10)
       test_graphblas10.py CASE     (what it prints)
SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import os
import random
import subprocess
import sys
import unittest

from suitesparse_graphblas import ffi, initialize, lib

FORCED = {'TESSERA_MODE': 'cpu', 'TESSERA_MIN_WORK': '0', 'TESSERA_VERBOSE': '1'}
NULL = ffi.NULL
FORMS = {'hyper': lib.GxB_HYPERSPARSE, 'sparse': lib.GxB_SPARSE, 'bitmap': lib.GxB_BITMAP, 'full': lib.GxB_FULL}
KEPT = (lib.GxB_OFFSET_INTEGER_HINT, lib.GxB_ROWINDEX_INTEGER_HINT, lib.GxB_COLINDEX_INTEGER_HINT, lib.GxB_HYPER_HASH)
HINTS = (lib.GxB_OFFSET_INTEGER_HINT, lib.GxB_ROWINDEX_INTEGER_HINT, lib.GxB_COLINDEX_INTEGER_HINT)
BITS = (lib.GxB_OFFSET_INTEGER_BITS, lib.GxB_ROWINDEX_INTEGER_BITS, lib.GxB_COLINDEX_INTEGER_BITS)
N, WIDTH = 60, 16


def ok(info):
    assert info == lib.GrB_SUCCESS, info


def new(rows, columns, kind=lib.GrB_FP64):
    made = ffi.new('GrB_Matrix *')
    ok(lib.GrB_Matrix_new(made, kind, rows, columns))
    return made


def filled(seed, rows, columns, share):
    """Small integers, whose sums are exact in any order."""
    rng, matrix = random.Random(seed), new(rows, columns)
    places = [(i, j) for i in range(rows) for j in range(columns) if rng.random() < share]
    values = [float(rng.randint(-4, 4)) for _ in places]
    ok(lib.GrB_Matrix_build_FP64(matrix[0], [i for i, _ in places], [j for _, j in places], values, len(places), lib.GrB_PLUS_FP64))
    return matrix


def ask(matrix, field):
    value = ffi.new('int32_t *')
    ok(lib.GrB_Matrix_get_INT32(matrix[0], value, field))
    return value[0]


def tell(matrix, value, field):
    ok(lib.GrB_Matrix_set_INT32(matrix[0], value, field))


def set_widths(matrix, choice):
    for n, field in enumerate(HINTS):
        tell(matrix, 64 if choice >> n & 1 else 32, field)


def held(matrix, form):
    tell(matrix, FORMS[form], lib.GxB_SPARSITY_CONTROL)
    ok(lib.GrB_Matrix_wait(matrix[0], lib.GrB_MATERIALIZE))
    return matrix


def show(title, matrix):
    """Whether a zero is negative does not count."""
    count = ffi.new('GrB_Index *')
    ok(lib.GrB_Matrix_nvals(count, matrix[0]))
    n = count[0]
    rows, columns, values = ffi.new('GrB_Index[]', n), ffi.new('GrB_Index[]', n), ffi.new('double[]', n)
    ok(lib.GrB_Matrix_extractTuples_FP64(rows, columns, values, count, matrix[0]))
    digest = hashlib.md5(repr(sorted(zip(rows, columns, (x + 0.0 for x in values)))).encode()).hexdigest()
    print(title, n, digest, ask(matrix, lib.GxB_SPARSITY_CONTROL), ask(matrix, lib.GrB_STORAGE_ORIENTATION_HINT))


def products(title, a, x):
    """a x, and a a' at the entries of a."""
    c = new(N, WIDTH)
    ok(lib.GrB_mxm(c[0], NULL, NULL, lib.GrB_PLUS_TIMES_SEMIRING_FP64, a[0], x[0], NULL))
    show(title + ' spmm', c)
    m = new(N, N)
    ok(lib.GrB_mxm(m[0], a[0], NULL, lib.GrB_PLUS_TIMES_SEMIRING_FP64, a[0], a[0], lib.GrB_DESC_ST1))
    show(title + ' masked', m)
    for matrix in (c, m):
        lib.GrB_Matrix_free(matrix)


def containers():
    """Out into a container and from there into another matrix, between products that remember either."""
    x = held(filled(1, N, WIDTH, 1), 'full')
    for form in FORMS:
        for orientation in (lib.GrB_ROWMAJOR, lib.GrB_COLMAJOR):
            a, b, box = filled(2, N, N, 1 if form == 'full' else 0.2), filled(3, N, N, 0.1), ffi.new('GxB_Container *')
            tell(a, orientation, lib.GrB_STORAGE_ORIENTATION_HINT)
            products(f'{form} {orientation} before', held(a, form), x)
            products('other', b, x)
            ok(lib.GxB_Container_new(box))
            ok(lib.GxB_unload_Matrix_into_Container(a[0], box[0], NULL))
            print(box[0].nrows, box[0].ncols, box[0].nvals, box[0].format, box[0].orientation, box[0].iso)
            ok(lib.GxB_load_Matrix_from_Container(b[0], box[0], NULL))
            products('loaded', b, x)
            ok(lib.GrB_Matrix_setElement_FP64(b[0], 3.0, 5, 7))
            products('written', b, x)
            ok(lib.GxB_unload_Matrix_into_Container(b[0], box[0], NULL))
            ok(lib.GxB_load_Matrix_from_Container(a[0], box[0], NULL))
            products('back', a, x)
            ok(lib.GxB_Container_free(box))


def vectors():
    """The values of a full vector, out and in."""
    a, u, w = filled(4, N, N, 0.2), ffi.new('GrB_Vector *'), ffi.new('GrB_Vector *')
    ok(lib.GrB_Vector_new(u, lib.GrB_FP64, N))
    ok(lib.GrB_Vector_new(w, lib.GrB_FP64, N))
    ok(lib.GrB_Vector_assign_FP64(u[0], NULL, NULL, 2.0, lib.GrB_ALL, N, NULL))
    for turn in range(3):
        ok(lib.GrB_Vector_setElement_FP64(u[0], float(turn), turn))
        ok(lib.GrB_mxv(w[0], NULL, NULL, lib.GrB_PLUS_TIMES_SEMIRING_FP64, a[0], u[0], NULL))
        total = ffi.new('double *')
        ok(lib.GrB_Vector_reduce_FP64(total, NULL, lib.GrB_PLUS_MONOID_FP64, w[0], NULL))
        print(turn, total[0])
        values, kind, n, size, how = ffi.new('void **'), ffi.new('GrB_Type *'), ffi.new('uint64_t *'), ffi.new('uint64_t *'), ffi.new('int *')
        ok(lib.GxB_Vector_unload(u[0], values, kind, n, size, how, NULL))
        ffi.cast('double *', values[0])[10] += 1
        ok(lib.GxB_Vector_load(u[0], values, kind[0], n[0], size[0], how[0], NULL))


def widths():
    """Offsets and indices of 32 and 64 bits, in every mixture."""
    x = held(filled(1, N, WIDTH, 1), 'full')
    for form in ('hyper', 'sparse'):
        for choice in range(8):
            a = filled(5, N, N, 0.2)
            set_widths(a, choice)
            held(a, form)
            print([ask(a, bits) for bits in BITS])
            products(f'{form} {choice}', a, x)
            ok(lib.GrB_Matrix_removeElement(a[0], 0, 0))
            products('removed', a, x)


def places():
    """Entries chosen by where they are, from matrices of every mixture of widths."""
    operators = (lib.GrB_TRIL, lib.GrB_TRIU, lib.GrB_DIAG, lib.GrB_OFFDIAG, lib.GrB_ROWLE, lib.GrB_ROWGT, lib.GrB_COLLE, lib.GrB_COLGT)
    for form in ('hyper', 'sparse'):
        for orientation in (lib.GrB_ROWMAJOR, lib.GrB_COLMAJOR):
            for choice in range(8):
                a = filled(11, N, N, 0.2)
                tell(a, orientation, lib.GrB_STORAGE_ORIENTATION_HINT)
                set_widths(a, choice)
                held(a, form)
                for operator in operators:
                    for place in (-N, -7, -1, 0, 1, 7, N):
                        c = new(N, N)
                        ok(lib.GrB_Matrix_select_INT64(c[0], NULL, NULL, operator, a[0], place, NULL))
                        show(f'{form} {orientation} {choice} {place}', c)
                        print([ask(c, bits) for bits in BITS])
                        lib.GrB_Matrix_free(c)
                lib.GrB_Matrix_free(a)


def asked(c):
    """What was set of it."""
    text, value, number = ffi.new('char[]', 256), ffi.new('GrB_Scalar *'), ffi.new('double *')
    ok(lib.GrB_Matrix_get_String(c[0], text, lib.GrB_NAME))
    ok(lib.GrB_Scalar_new(value, lib.GrB_FP64))
    found = [ffi.string(text), ask(c, lib.GxB_SPARSITY_STATUS)] + [ask(c, field) for field in KEPT]
    for field in (lib.GxB_HYPER_SWITCH, lib.GxB_BITMAP_SWITCH):
        ok(lib.GrB_Matrix_get_Scalar(c[0], value[0], field))
        ok(lib.GrB_Scalar_extractElement_FP64(number, value[0]))
        found.append(number[0])
    print(found)


def settings():
    """What is set before a product is there after it."""
    a, x = filled(6, N, N, 0.2), held(filled(1, N, WIDTH, 1), 'full')
    for orientation in (lib.GrB_ROWMAJOR, lib.GrB_COLMAJOR):
        for form in FORMS.values():
            c, value = new(N, WIDTH), ffi.new('GrB_Scalar *')
            ok(lib.GrB_Scalar_new(value, lib.GrB_FP64))
            tell(c, orientation, lib.GrB_STORAGE_ORIENTATION_HINT)
            tell(c, form | lib.GxB_SPARSE, lib.GxB_SPARSITY_CONTROL)
            for field, number in ((lib.GxB_HYPER_SWITCH, 0.25), (lib.GxB_BITMAP_SWITCH, 0.5)):
                ok(lib.GrB_Scalar_setElement_FP64(value[0], number))
                ok(lib.GrB_Matrix_set_Scalar(c[0], value[0], field))
            for field in KEPT:
                tell(c, 0 if field == lib.GxB_HYPER_HASH else 64, field)
            ok(lib.GrB_Matrix_set_String(c[0], b'named', lib.GrB_NAME))
            ok(lib.GrB_mxm(c[0], NULL, NULL, lib.GrB_PLUS_TIMES_SEMIRING_FP64, a[0], x[0], NULL))
            asked(c)
            ok(lib.GrB_mxm(c[0], NULL, lib.GrB_PLUS_FP64, lib.GrB_PLUS_TIMES_SEMIRING_FP64, a[0], x[0], NULL))
            asked(c)
            show('settings', c)


def hashes():
    """A hypersparse matrix with and without its table, taken out and put in again."""
    x = held(filled(1, N, WIDTH, 1), 'full')
    for wanted in (1, 0):
        a, table = filled(7, N, N, 0.02), ffi.new('GrB_Matrix *')
        tell(a, wanted, lib.GxB_HYPER_HASH)
        products(f'hash {wanted}', held(a, 'hyper'), x)
        ok(lib.GxB_unpack_HyperHash(a[0], table, NULL))
        products('without', a, x)
        if table[0] != NULL:
            ok(lib.GxB_pack_HyperHash(a[0], table, NULL))
        products('with', a, x)


def jit():
    a, x = filled(8, N, N, 0.2), held(filled(1, N, WIDTH, 1), 'full')
    for control in (lib.GxB_JIT_OFF, lib.GxB_JIT_PAUSE, lib.GxB_JIT_RUN, lib.GxB_JIT_OFF):
        ok(lib.GrB_Global_set_INT32(lib.GrB_GLOBAL, control, lib.GxB_JIT_C_CONTROL))
        products('jit', a, x)


def contexts():
    """One thread is engaged: the product starts no other one; after that it may."""
    a, x, context = filled(9, 1000, 1000, 0.02), filled(10, 1000, 64, 1), ffi.new('GxB_Context *')
    held(x, 'full')
    ok(lib.GxB_Context_new(context))
    ok(lib.GxB_Context_set_INT(context[0], 1, lib.GxB_NTHREADS))
    for engage in (True, False):
        ok((lib.GxB_Context_engage if engage else lib.GxB_Context_disengage)(context[0]))
        before, c = len(os.listdir('/proc/self/task')), new(1000, 64)
        ok(lib.GrB_mxm(c[0], NULL, NULL, lib.GrB_PLUS_TIMES_SEMIRING_FP64, a[0], x[0], NULL))
        print('engaged' if engage else 'free', 'starts threads:', len(os.listdir('/proc/self/task')) > before, file=sys.stderr)
        show('context', c)
    ok(lib.GxB_Context_free(context))
    products('freed', filled(2, N, N, 0.2), held(filled(1, N, WIDTH, 1), 'full'))


CASES = (containers, vectors, widths, places, settings, hashes, jit, contexts)


def run_case(case):
    initialize(memory_manager='c')
    ok(lib.GrB_Global_set_INT32(lib.GrB_GLOBAL, 1 if case is not contexts else 2, lib.GxB_NTHREADS))
    case()


class SameAsPlain(unittest.TestCase):
    def printed(self, case, *before):
        result = subprocess.run([sys.executable, *before, __file__, case.__name__], env={**os.environ, **FORCED}, capture_output=True,
                                text=True, timeout=300, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def compare(self, case):
        plain, through = self.printed(case), self.printed(case, '-m', 'tessera', 'run')
        self.assertEqual(through.stdout.splitlines(), plain.stdout.splitlines())
        self.assertRegex(through.stderr, 'cpu:select' if case is places else 'cpu:sp(mm|mv)')
        if case is contexts:  # Tessera's threads are its own: none yet
            self.assertRegex(through.stderr, '(?s)engaged starts threads: False.*free starts threads: True')


for function in CASES:
    setattr(SameAsPlain, 'test_' + function.__name__, lambda self, case=function: self.compare(case))


if __name__ == '__main__':
    chosen = [case for case in CASES if case.__name__ in sys.argv[1:]]
    if chosen:
        run_case(chosen[0])
    else:
        unittest.main()
