"""Products of SciPy's compressed matrices and dense arrays.

SPDX-License-Identifier: Apache-2.0"""

import ctypes as c

import numpy as np

from tessera import _native as native


def _array(x, name):
    """A NumPy array over the same memory, wherever that is possible."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, 'tocsr'):  # np.asarray would make one object of it
        raise TypeError(f'{name} is sparse, and must be dense (tessera.spgemm multiplies two sparse matrices)')
    if hasattr(x, '__dlpack__'):
        device = x.__dlpack_device__()[0] if hasattr(x, '__dlpack_device__') else 1
        if device not in (1, 3):  # host memory, page-locked host memory
            raise TypeError(f'{name} is not in host memory')
        return np.from_dlpack(x)
    return np.asarray(x)


def _fit(left, right, whole=None):
    """Whether shapes can be multiplied, and give the whole."""
    if left[1] != right[0] or (whole and whole != (left[0], right[1])):
        shapes = f'{left} and {right}' + (f' at the entries of {whole}' if whole else '')
        raise native.Error(f'dimensions do not fit together: {shapes}')


def _pointer(array):
    return c.c_void_p(array.ctypes.data)


def _dense(x, name):
    """(tsr_dense, the array that it shows): rows or columns with unit stride are taken as they are, anything else is copied."""
    x = _array(x, name)
    if x.ndim not in (1, 2):
        raise ValueError(f'{name} has {x.ndim} dimensions')
    if x.dtype.name not in native.TYPES:
        raise TypeError(f'{name}: no kernel knows {x.dtype}')
    shown = x[:, None] if x.ndim == 1 else x
    rows, columns = shown.shape
    if shown.size == 0:
        return native.Dense(None, native.TYPES.index(x.dtype.name), native.ROW_MAJOR, rows, columns, max(columns, 1)), shown
    size = shown.itemsize
    for layout, unit, other, least in ((native.ROW_MAJOR, 1, 0, columns), (native.COL_MAJOR, 0, 1, rows)):
        steps = [stride // size for stride in shown.strides]
        if shown.strides[unit] == size and shown.strides[other] % size == 0 and (steps[other] >= least or shown.shape[other] <= 1):
            ld = max(steps[other], least, 1)
            return native.Dense(_pointer(shown), native.TYPES.index(x.dtype.name), layout, rows, columns, ld), shown
    if x.ndim == 1 and shown.strides[0] > 0 and shown.strides[0] % size == 0:
        return native.Dense(_pointer(shown), native.TYPES.index(x.dtype.name), native.ROW_MAJOR, rows, 1, shown.strides[0] // size), shown
    return _dense(np.ascontiguousarray(x), name)


def _compressed(a, name):
    if getattr(a, 'format', None) not in ('csr', 'csc'):
        raise TypeError(f'{name} must be a matrix in CSR or CSC, as SciPy has them')


def _type(a, name):
    """Of its values."""
    return _array(a.data, name).dtype


def _width(index):
    return native.INDEX_32 if np.dtype(index).itemsize == 4 else native.INDEX_64


def _sparse(a, name, values=True):
    """A context with the handle of a matrix in CSR or CSC; its arrays are only looked at."""
    _compressed(a, name)
    offsets, indices, data = (_array(x, name) for x in (a.indptr, a.indices, a.data))
    if offsets.dtype != indices.dtype:
        offsets, indices = offsets.astype(np.int64), indices.astype(np.int64)
    if values and data.dtype.name not in native.TYPES:
        raise TypeError(f'{name}: no kernel knows {data.dtype}')
    kind = native.TYPES.index(data.dtype.name) if values else 0
    arrays = native.Arrays(_width(offsets.dtype), _pointer(offsets), _pointer(indices), kind, _pointer(data) if values else None)
    create = native.lib.tsr_sparse_create_csr if a.format == 'csr' else native.lib.tsr_sparse_create_csc
    handle = native.Handle(lambda out: create(out, *a.shape, c.byref(arrays), 0), native.lib.tsr_sparse_destroy)
    handle.shown = (offsets, indices, data)
    return handle


def _result(out, shape, dtype, like):
    if out is None:
        return np.empty(shape, dtype, order='F' if like.flags.f_contiguous and not like.flags.c_contiguous else 'C')
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        raise ValueError(f'out must be a NumPy array of shape {shape} and type {dtype}')
    return out


def spmm(a, b, out=None, *, alpha=1.0, beta=0.0, semiring='plus_times'):
    """alpha a b + beta out: a in CSR or CSC, b dense, of one or two dimensions; over another semiring the same with its operators.

    The type of the result is that of a's values and b's together (numpy.result_type).  No operand is copied unless neither its rows nor its
    columns are contiguous."""
    _compressed(a, 'a')
    array = _array(b, 'b')
    if beta != 0 and out is None:
        raise ValueError('beta needs out')
    first, _kept = _dense(array, 'b')
    _fit(a.shape, array.shape)
    dtype = np.result_type(_type(a, 'a'), array.dtype)
    shape = (a.shape[0],) + array.shape[1:]
    result = _result(out, shape, dtype, array)
    second, shown = _dense(result, 'out')
    if not np.shares_memory(shown, result) and result.size:
        raise ValueError('neither rows nor columns of out are contiguous')
    op = native.SPMV if array.ndim == 1 else native.SPMM
    ring = native.semiring_of(semiring, dtype)
    with _sparse(a, 'a') as handle, native.Handle(
            lambda plan: native.lib.tsr_plan_create(plan, op, ring, handle, c.byref(first), c.byref(second), 0),
            native.lib.tsr_plan_destroy) as plan:
        native.check(native.lib.tsr_execute(plan, alpha, handle, c.byref(first), beta, c.byref(second), None))
    return result


def sddmm(s, x, y, *, alpha=1.0, semiring='plus_times', softmax=False):
    """alpha (x y) at the entries of s only, whose values do not count: a matrix with the pattern of s, sharing its index arrays.

    softmax: then of the values of each row, as an attention layer has it (s in CSR)."""
    _compressed(s, 's')
    x, y = _array(x, 'x'), _array(y, 'y')
    first, _kept_x = _dense(x, 'x')
    second, _kept_y = _dense(y, 'y')
    _fit((first.nrows, first.ncols), (second.nrows, second.ncols), tuple(s.shape))
    dtype = np.result_type(x.dtype, y.dtype)
    values = np.zeros(s.indices.shape[0], dtype)
    ring = native.semiring_of(semiring, dtype)
    flags = native.SOFTMAX_ROWS if softmax else 0
    with _sparse(s, 's', values=False) as handle, native.Handle(
            lambda plan: native.lib.tsr_plan_create(plan, native.SDDMM, ring, handle, c.byref(first), c.byref(second), flags),
            native.lib.tsr_plan_destroy) as plan:
        native.check(native.lib.tsr_execute_sddmm(plan, alpha, c.byref(first), c.byref(second), 0.0, handle, _pointer(values), None))
    return type(s)((values, s.indices, s.indptr), shape=s.shape, copy=False)


def spgemm(a, b, *, semiring='plus_times'):
    """a b, both in CSR or CSC, as a matrix like a: over another semiring the same with its operators.

    It has an entry wherever entries of a and b meet, also if they sum up to zero; its indices ascend, of 32 bits where its size
    allows, as SciPy has them."""
    _compressed(a, 'a')
    _compressed(b, 'b')
    _fit(a.shape, b.shape)
    with _sparse(a, 'a') as first, _sparse(b, 'b') as second:
        dtype = np.result_type(_type(a, 'a'), _type(b, 'b'))
        ring, flags = native.semiring_of(semiring, dtype), native.BY_COLUMN if a.format == 'csc' else 0
        with native.Handle(lambda plan: native.lib.tsr_spgemm_plan_create(plan, ring, first, second, flags),
                           native.lib.tsr_spgemm_plan_destroy) as plan:
            size = c.c_int64()
            native.check(native.lib.tsr_spgemm_plan_size(plan, None, None, c.byref(size)))
            shape = (a.shape[0], b.shape[1])
            vectors = shape[a.format == 'csc']
            index = np.int32 if max(size.value, *shape) < 2**31 else np.int64
            offsets, indices, values = np.empty(vectors + 1, index), np.empty(size.value, index), np.empty(size.value, dtype)
            native.check(native.lib.tsr_spgemm_execute(plan, _width(index), _pointer(offsets), _pointer(indices), _pointer(values)))
    result = type(a)((values, indices, offsets), shape=shape, copy=False)
    result.has_canonical_format = True
    return result
