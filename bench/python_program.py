"""Products as a Python program makes them, for bench/python_products.py: a line of standard input names one, a line of standard output
says how long it took and what came out.

usage: python_program.py SCALE COLUMNS      (through python-graphblas, which does not start with GraphBLAS 10: there through cffi)
SPDX-License-Identifier: Apache-2.0"""

import sys
import time

import numpy as np
import suitesparse_graphblas


def rmat(scale, degree=16, seed=1):
    """Rows and columns of a symmetric R-MAT graph without loops, each edge in both directions once."""
    rng, count = np.random.default_rng(seed), degree << scale
    i, j = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    for _ in range(scale):
        r = rng.random(count)
        i = 2 * i + (r >= .76)
        j = 2 * j + (((r >= .57) & (r < .76)) | (r >= .95))
    pairs = np.unique(np.stack([np.concatenate([i, j]), np.concatenate([j, i])])[:, np.concatenate([i != j, i != j])], axis=1)
    return pairs.astype(np.uint64)


class PythonGraphBLAS:
    """As its users write it."""

    def __init__(self):
        import graphblas
        self.gb = graphblas
        self.gb.init()

    def matrix(self, rows, columns, values, shape):
        made = self.gb.Matrix.from_coo(rows, columns, values, dtype=self.gb.dtypes.FP32, nrows=shape[0], ncols=shape[1])
        made.wait()
        return made

    def full(self, values):
        return self.gb.Matrix.from_dense(values)

    def multiply(self, a, x):
        c = self.gb.semiring.plus_times(a @ x).new()
        c.wait()
        return c

    def rectify(self, c):
        made = c.apply(self.gb.binary.max, right=0).new()
        made.wait()
        return made

    def count_pairs(self, lower):
        """Triangles of a graph with this lower part."""
        pairs = self.gb.semiring.plus_pair['INT64'](lower @ lower.T).new(mask=lower.S)
        return pairs.reduce_scalar(self.gb.monoid.plus).new().value

    def total(self, c):
        return c.reduce_scalar(self.gb.monoid.plus['FP64']).new().value


class Functions:
    """The functions of C."""

    def __init__(self):
        self.ffi, self.lib = suitesparse_graphblas.ffi, suitesparse_graphblas.lib
        suitesparse_graphblas.initialize(memory_manager='c')

    def call(self, name, *arguments):
        info = getattr(self.lib, name)(*(self.ffi.NULL if a is None else a for a in arguments))
        if info != self.lib.GrB_SUCCESS:
            raise RuntimeError(f'{name}: {info}')

    def new(self, kind, rows, columns):
        made = self.ffi.new('GrB_Matrix *')
        self.call('GrB_Matrix_new', made, kind, rows, columns)
        return self.ffi.gc(made, self.lib.GrB_Matrix_free)

    def finish(self, c):
        self.call('GrB_Matrix_wait', c[0], self.lib.GrB_MATERIALIZE)
        return c

    def matrix(self, rows, columns, values, shape):
        made = self.new(self.lib.GrB_FP32, *shape)
        index = lambda array: self.ffi.cast('GrB_Index *', self.ffi.from_buffer(array))
        self.call('GrB_Matrix_build_FP32', made[0], index(rows), index(columns), self.ffi.cast('float *', self.ffi.from_buffer(values)),
                  len(values), self.lib.GrB_PLUS_FP32)
        return self.finish(made)

    def full(self, values):
        rows, columns = np.indices(values.shape, dtype=np.uint64)
        return self.matrix(rows.ravel().copy(), columns.ravel().copy(), values.ravel().copy(), values.shape)

    def size(self, name, a):
        count = self.ffi.new('GrB_Index *')
        self.call(name, count, a[0])
        return count[0]

    def multiply(self, a, x):
        c = self.new(self.lib.GrB_FP32, self.size('GrB_Matrix_nrows', a), self.size('GrB_Matrix_ncols', x))
        self.call('GrB_mxm', c[0], None, None, self.lib.GrB_PLUS_TIMES_SEMIRING_FP32, a[0], x[0], None)
        return self.finish(c)

    def rectify(self, c):
        self.call('GrB_Matrix_apply_BinaryOp2nd_FP32', c[0], None, None, self.lib.GrB_MAX_FP32, c[0], 0.0, None)
        return self.finish(c)

    def count_pairs(self, lower):
        n, count = self.size('GrB_Matrix_nrows', lower), self.ffi.new('int64_t *')
        c = self.new(self.lib.GrB_INT64, n, n)
        self.call('GrB_mxm', c[0], lower[0], None, self.lib.GxB_PLUS_PAIR_INT64, lower[0], lower[0], self.lib.GrB_DESC_ST1)
        self.call('GrB_Matrix_reduce_INT64', count, None, self.lib.GrB_PLUS_MONOID_INT64, c[0], None)
        return count[0]

    def total(self, c):
        total = self.ffi.new('double *')
        self.call('GrB_Matrix_reduce_FP64', total, None, self.lib.GrB_PLUS_MONOID_FP64, c[0], None)
        return total[0]


def cases(grb, scale, width):
    """Names and functions; values are small integers, so that sums are exact."""
    rng, n = np.random.default_rng(2), 1 << scale
    rows, columns = rmat(scale)
    integers = lambda *shape: rng.integers(-4, 5, shape).astype(np.float32)
    matrix = lambda i, j: grb.matrix(i.copy(), j.copy(), np.ones(len(i), np.float32), (n, n))
    vertices, down = np.arange(n, dtype=np.uint64), rows > columns
    loops = matrix(np.concatenate([rows, vertices]), np.concatenate([columns, vertices]))
    lower, x, weights = matrix(rows[down], columns[down]), grb.full(integers(n, width)), grb.full(integers(width, width))
    return {'A @ X': lambda: grb.multiply(loops, x),
            'GCN layer': lambda: grb.rectify(grb.multiply(grb.multiply(loops, x), weights)),
            'triangles': lambda: grb.count_pairs(lower)}, n, len(rows)


def main():
    version = suitesparse_graphblas.__version__
    grb = PythonGraphBLAS() if int(version.split('.')[0]) < 10 else Functions()
    table, vertices, entries = cases(grb, int(sys.argv[1]), int(sys.argv[2]))
    print(version, type(grb).__name__, vertices, entries, *table, sep='\t', flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        result = table[line.strip()]()
        ms = (time.perf_counter() - start) * 1e3
        print(ms, float(result if isinstance(result, int) else grb.total(result)), flush=True)


if __name__ == '__main__':
    main()
