"""Products of SciPy matrices and NumPy arrays, sparse times dense, sparse times sparse and sampled, computed by Tessera without copying an
operand.

Dense operands may be anything with DLPack in host memory (PyTorch tensors of the CPU) as well.  `import tessera.graphblas` before
`graphblas` accelerates python-graphblas in this process; `python -m tessera run script.py` does it from outside.

SPDX-License-Identifier: Apache-2.0"""

from tessera._native import Error, version
from tessera._products import sddmm, spgemm, spmm

__all__ = ['Error', 'sddmm', 'spgemm', 'spmm', 'version']
__version__ = version()
