"""The native interface (include/tessera/tessera.h, spgemm.h) through ctypes.

SPDX-License-Identifier: Apache-2.0"""

import ctypes as c

from tessera._files import CORE

# In the order of tsr_type, tsr_add, tsr_mul.
TYPES = ('bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64')
ADDS = ('plus', 'min', 'max', 'any', 'lor')
MULS = ('times', 'first', 'second', 'pair', 'plus', 'and')
SPMM, SPMV, SDDMM = 0, 1, 2
ROW_MAJOR, COL_MAJOR = 0, 1
INDEX_32, INDEX_64 = 0, 1
SOFTMAX_ROWS = 2
BY_COLUMN = 4


class Semiring(c.Structure):
    _fields_ = [('type', c.c_int), ('add', c.c_int), ('mul', c.c_int)]


class Arrays(c.Structure):
    _fields_ = [('index_type', c.c_int), ('offsets', c.c_void_p), ('indices', c.c_void_p), ('type', c.c_int), ('values', c.c_void_p),
                ('memory', c.c_int)]


class Dense(c.Structure):
    _fields_ = [('data', c.c_void_p), ('type', c.c_int), ('layout', c.c_int), ('nrows', c.c_int64), ('ncols', c.c_int64),
                ('ld', c.c_int64), ('memory', c.c_int)]


class Error(RuntimeError):
    """What a function of the library returned."""


def _load():
    lib = c.CDLL(CORE)
    pointer, size = c.c_void_p, c.c_int64
    for name, result, arguments in (
            ('tsr_version', c.c_char_p, []),
            ('tsr_status_string', c.c_char_p, [c.c_int]),
            ('tsr_sparse_create_csr', c.c_int, [c.POINTER(pointer), size, size, c.POINTER(Arrays), c.c_uint]),
            ('tsr_sparse_create_csc', c.c_int, [c.POINTER(pointer), size, size, c.POINTER(Arrays), c.c_uint]),
            ('tsr_sparse_destroy', None, [pointer]),
            ('tsr_plan_create', c.c_int, [c.POINTER(pointer), c.c_int, Semiring, pointer, c.POINTER(Dense), c.POINTER(Dense), c.c_uint]),
            ('tsr_plan_destroy', None, [pointer]),
            ('tsr_execute', c.c_int, [pointer, c.c_double, pointer, c.POINTER(Dense), c.c_double, c.POINTER(Dense), pointer]),
            ('tsr_execute_sddmm', c.c_int, [pointer, c.c_double, c.POINTER(Dense), c.POINTER(Dense), c.c_double, pointer, pointer,
                                            pointer]),
            ('tsr_spgemm_plan_create', c.c_int, [c.POINTER(pointer), Semiring, pointer, pointer, c.c_uint]),
            ('tsr_spgemm_plan_size', c.c_int, [pointer, c.POINTER(size), c.POINTER(size), c.POINTER(size)]),
            ('tsr_spgemm_plan_destroy', None, [pointer]),
            ('tsr_spgemm_execute', c.c_int, [pointer, c.c_int, pointer, pointer, pointer])):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


lib = _load()


def version():
    """Version of the library."""
    return lib.tsr_version().decode()


def check(status):
    if status != 0:
        raise Error(lib.tsr_status_string(status).decode())


class Handle:
    """Something that the library made, destroyed at the end of a with."""

    def __init__(self, make, destroy):
        self.pointer, self._destroy = c.c_void_p(), destroy
        check(make(c.byref(self.pointer)))

    def __enter__(self):
        return self.pointer

    def __exit__(self, *_):
        self._destroy(self.pointer)


def semiring_of(name, dtype):
    """'plus_times' over a NumPy type."""
    add, _, mul = name.partition('_')
    if add not in ADDS or mul not in MULS:
        raise ValueError(f'no semiring {name!r}: one of {", ".join(ADDS)}, "_", one of {", ".join(MULS)}')
    return Semiring(TYPES.index(dtype.name), ADDS.index(add), MULS.index(mul))
