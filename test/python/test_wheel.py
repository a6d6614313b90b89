"""The Python package as it is installed: its products against SciPy's and NumPy's, the command, python-graphblas in this process and through it.

usage: test_wheel.py          (with the python of an environment that has tessera, scipy, python-graphblas)
SPDX-License-Identifier: Apache-2.0
"""

import subprocess
import sys
import types
import unittest

import numpy as np
import scipy.sparse as sp

import tessera

ROWS, COLUMNS, WIDTH = 300, 200, 33
TYPES = (np.float32, np.float64, np.int32, np.uint8)
# What Tessera took stands in its summary.
SCRIPT = '''
import graphblas as gb
A = gb.Matrix.from_coo([0, 1, 1, 2], [1, 0, 2, 2], [1.0, 2.0, 3.0, 4.0], nrows=3, ncols=100)
X = gb.Matrix.from_scalar(2.0, 100, 4)
X[0, 0] = 2.0
print(A.mxm(X, gb.semiring.plus_times).new().reduce_scalar(gb.monoid.plus).new().value)
'''
# A search's frontier, in a new vector and in its own place: from version 9 on objects have names, which packing resets.
NAMED = '''
from suitesparse_graphblas import ffi, initialize, lib
initialize(memory_manager='c')
n, null = 600, ffi.NULL
A, u, w = ffi.new('GrB_Matrix *'), ffi.new('GrB_Vector *'), ffi.new('GrB_Vector *')
lib.GrB_Matrix_new(A, lib.GrB_FP64, n, n)
lib.GrB_Matrix_build_FP64(A[0], [i for i in range(n) for _ in range(8)], [(i + j) % n for i in range(n) for j in range(8)],
                          [1.0] * (8 * n), 8 * n, lib.GrB_PLUS_FP64)
for v, name in ((u, b'u'), (w, b'w')):
    lib.GrB_Vector_new(v, lib.GrB_FP64, n)
    lib.GrB_Vector_set_String(v[0], ffi.new('char[]', name), lib.GrB_NAME)
lib.GrB_Vector_setElement_FP64(u[0], 1.0, 5)
for c in (w, u):
    lib.GrB_vxm(c[0], null, null, lib.GrB_PLUS_TIMES_SEMIRING_FP64, u[0], A[0], null)
for v in (u, w):
    name = ffi.new('char[]', 256)
    lib.GrB_Vector_get_String(v[0], name, lib.GrB_NAME)
    print(ffi.string(name).decode())
'''
FORCED = {'TESSERA_MODE': 'cpu', 'TESSERA_MIN_WORK': '0', 'TESSERA_VERBOSE': '1'}


def sparse(form, dtype, index=np.int32):
    rng = np.random.default_rng(7)
    a = sp.random(ROWS, COLUMNS, 0.05, format=form, random_state=1, data_rvs=lambda n: rng.integers(1, 9, n))
    a.data = a.data.astype(dtype)
    a.indices, a.indptr = a.indices.astype(index), a.indptr.astype(index)
    return a


def dense(rows, columns, dtype, order='C'):
    return np.asarray(np.random.default_rng(8).integers(0, 5, (rows, columns)), dtype=dtype, order=order)


class Elsewhere:
    """What another library might hold: DLPack, and nothing else of NumPy."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.device, 0


class Products(unittest.TestCase):
    def test_spmm(self):
        for form in ('csr', 'csc'):
            for dtype in TYPES:
                for index in (np.int32, np.int64):
                    for order in 'CF':
                        a, b = sparse(form, dtype, index), dense(COLUMNS, WIDTH, dtype, order)
                        c = tessera.spmm(a, b)
                        self.assertEqual((c.dtype, c.flags.f_contiguous), (dtype, order == 'F'))
                        np.testing.assert_array_equal(c, a @ b)

    def test_layouts(self):
        a, b = sparse('csr', np.float64), dense(2 * COLUMNS, WIDTH, np.float64)
        for part in (b[::2], b[:COLUMNS, 3:20], b[:COLUMNS, ::2], b[COLUMNS - 1::-1], b[:COLUMNS, :1], b[:COLUMNS, 0], b[::2, 5], b[:COLUMNS, :0]):
            np.testing.assert_array_equal(tessera.spmm(a, part), a @ part)

    def test_out(self):
        a, b = sparse('csr', np.float32), dense(COLUMNS, WIDTH, np.float32)
        whole = np.full((ROWS, WIDTH + 3), 7, np.float32)
        out = whole[:, 1:-2]
        self.assertIs(tessera.spmm(a, b, out=out, alpha=2, beta=3), out)
        np.testing.assert_array_equal(out, 2 * (a @ b) + 21)
        self.assertTrue((whole[:, 0] == 7).all() and (whole[:, -2:] == 7).all())

    def test_semiring(self):
        a, b = sparse('csr', np.float64), dense(COLUMNS, 3, np.float64)
        full = np.where(a.toarray() != 0, a.toarray(), np.inf)
        np.testing.assert_array_equal(tessera.spmm(a, b, semiring='min_plus'), (full[:, :, None] + b[None]).min(axis=1))

    def test_sddmm(self):
        s, x, y = sparse('csr', np.float64), dense(ROWS, 16, np.float64), dense(16, COLUMNS, np.float64, 'F')
        c = tessera.sddmm(s, x, y)
        rows = np.repeat(np.arange(ROWS), np.diff(s.indptr))
        np.testing.assert_array_equal(c.data, (x @ y)[rows, s.indices])
        self.assertTrue(np.shares_memory(c.indices, s.indices))
        sums = tessera.sddmm(s, x, y, softmax=True).sum(axis=1)
        np.testing.assert_allclose(np.asarray(sums).ravel()[np.diff(s.indptr) > 0], 1)

    def test_spgemm(self):
        for forms in (('csr', 'csr'), ('csr', 'csc'), ('csc', 'csr'), ('csc', 'csc')):
            for dtype in TYPES:
                for index in (np.int32, np.int64):
                    a, b = sparse(forms[0], dtype, index), sparse(forms[1], dtype).T.asformat(forms[1])
                    c, wanted = tessera.spgemm(a, b), a.astype(np.int32) @ b.astype(np.int32)
                    self.assertEqual((type(c), c.dtype, c.indices.dtype, c.nnz), (type(a), dtype, np.int32, wanted.nnz))
                    np.testing.assert_array_equal(c.toarray(), (a @ b).toarray())
                    c.has_sorted_indices = False
                    c.sort_indices()
                    np.testing.assert_array_equal(c.indices, wanted.sorted_indices().indices)

    def test_spgemm_entries(self):
        a, b = sp.csr_array(np.array([[1., -1.], [0., 0.]])), sp.csr_array(np.array([[2., 0.], [2., 3.]]))
        c = tessera.spgemm(a, b)
        self.assertEqual((type(c), c.nnz, c[0, 0]), (type(a), 2, 0))
        self.assertEqual(tessera.spgemm(a, b, semiring='max_plus')[0, 0], 3)
        self.assertEqual(tessera.spgemm(sp.csr_array((2, 2)), b).nnz, 0)
        self.assertEqual(tessera.spgemm(a, sp.csr_array((2, 0))).shape, (2, 0))

    def test_dlpack(self):
        a, b = sparse('csr', np.float32), dense(COLUMNS, WIDTH, np.float32)
        np.testing.assert_array_equal(tessera.spmm(a, Elsewhere(b)), a @ b)
        boxed = types.SimpleNamespace(format='csr', shape=a.shape, indptr=Elsewhere(a.indptr), indices=Elsewhere(a.indices), data=Elsewhere(a.data))
        np.testing.assert_array_equal(tessera.spmm(boxed, b), a @ b)
        boxed.data = Elsewhere(a.data, 2)
        for refused in ((a, Elsewhere(b, 2)), (boxed, b)):
            with self.assertRaisesRegex(TypeError, 'not in host memory'):
                tessera.spmm(*refused)

    def test_what_is_refused(self):
        a = sparse('csr', np.float64)
        for b, error in ((np.ones((COLUMNS + 1, 2)), tessera.Error), (np.ones((COLUMNS, 2), complex), TypeError), (np.ones((2, 2, 2)), ValueError)):
            self.assertRaises(error, tessera.spmm, a, b)
        self.assertRaises(TypeError, tessera.spmm, a.tocoo(), np.ones((COLUMNS, 2)))
        self.assertRaises(ValueError, tessera.spmm, a, np.ones((COLUMNS, 2)), semiring='plus')
        self.assertRaises(tessera.Error, tessera.spgemm, a, a)
        self.assertRaises(TypeError, tessera.spgemm, a, np.ones((COLUMNS, 2)))
        self.assertRaises(TypeError, tessera.spgemm, a, a.T.astype(complex))
        self.assertRaises(ValueError, tessera.spmm, a, np.ones((COLUMNS, 2)), out=np.ones((ROWS, 2), np.float32))

    def test_says_what_is_wrong(self):
        a, b = sparse('csr', np.float64), np.ones((COLUMNS, 2))
        for error, said, function, arguments in (
                (TypeError, 'a must be a matrix in CSR or CSC', tessera.spmm, (b, a)),
                (TypeError, 'b is sparse, and must be dense .tessera.spgemm', tessera.spmm, (a, a.T)),
                (tessera.Error, r'\(300, 200\) and \(7, 2\)', tessera.spmm, (a, b[:7])),
                (tessera.Error, r'\(300, 200\) and \(300, 200\)', tessera.spgemm, (a, a)),
                (TypeError, 's must be a matrix in CSR or CSC', tessera.sddmm, (b, b, b)),
                (tessera.Error, r'\(300, 2\) and \(200, 2\) at the entries of \(300, 200\)', tessera.sddmm, (a, np.ones((ROWS, 2)), b))):
            with self.assertRaisesRegex(error, said):
                function(*arguments)


class Programs(unittest.TestCase):
    def run_python(self, *arguments, **more):
        return subprocess.run([sys.executable, *arguments], env=FORCED, capture_output=True, text=True, check=True, timeout=120, **more)

    def taken(self, result):
        self.assertEqual(result.stdout, '80.0\n')
        self.assertIn('cpu:spmm', result.stderr)

    def test_plain(self):
        self.assertEqual(self.run_python('-c', SCRIPT).stderr, '')

    def test_run(self):
        self.taken(self.run_python('-m', 'tessera', 'run', '-c', SCRIPT))
        self.taken(self.run_python('-m', 'tessera', 'run', '--', sys.executable, '-c', SCRIPT))

    def test_names(self):
        self.assertEqual(self.run_python('-c', NAMED).stdout, 'u\nw\n')
        result = self.run_python('-m', 'tessera', 'run', '--', sys.executable, '-c', NAMED)
        self.assertEqual(result.stdout, 'u\nw\n')
        self.assertRegex(result.stderr, 'cpu:push +2 calls')

    def test_inside(self):
        self.taken(self.run_python('-c', 'import tessera.graphblas\n' + SCRIPT))

    def test_too_late(self):
        result = self.run_python('-c', SCRIPT + 'import tessera.graphblas')
        self.assertEqual(result.stdout, '80.0\n')
        self.assertIn('not accelerated: suitesparse_graphblas was imported before', result.stderr)

    def test_command(self):
        self.assertIn(tessera.version(), self.run_python('-m', 'tessera', '--version').stdout)
        self.assertIn('libtessera-door9.so', self.run_python('-m', 'tessera', 'info', '--', sys.executable).stdout)


if __name__ == '__main__':
    unittest.main()
