"""Imported before `graphblas`: python-graphblas of this process goes through Tessera.

Functions of the library that suitesparse_graphblas brings are looked up when it is imported, and what is global comes first.

SPDX-License-Identifier: Apache-2.0"""

import ctypes
import os
import sys

from tessera._files import PRELOADED


def _attach():
    """None, or why not."""
    if 'suitesparse_graphblas' in sys.modules:
        return 'suitesparse_graphblas was imported before; import tessera.graphblas first, or start with python -m tessera run'
    if 'libtessera.so' in os.environ.get('LD_PRELOAD', ''):
        return None
    try:
        ctypes.CDLL(PRELOADED, mode=ctypes.RTLD_GLOBAL)
    except OSError as problem:
        return str(problem)
    return None


WHY_NOT = _attach()
if WHY_NOT:
    print(f'tessera: python-graphblas is not accelerated: {WHY_NOT}', file=sys.stderr)
