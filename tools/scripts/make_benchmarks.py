#!/usr/bin/env python3
"""Make docs/benchmarks.md from records in bench/results.

usage: make_benchmarks.py > docs/benchmarks.md     SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re
import subprocess

import make_pictures

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Title, record, command that makes the table, what to say.
TABLES = [
    ('On a CPU: unchanged GraphBLAS programs', 'xeon-4core/headline/2026-11-22T0903-fc2c49f0259c.jsonl',
     ['bench/table.py'],
     'The same program plain and with Tessera preloaded, taking turns; medians of warm calls, the first call (with whatever it builds) beside them. '
     'Made by `bench/run.py --grid headline`.'),
    ('On a CPU: the whole grid', 'xeon-16core/grid/2026-11-21T2246-56270be-dirty.jsonl',
     ['bench/table.py', '--summary'],
     'Types, semirings, widths and layouts, made by `bench/run.py --grid full`. Where a product is forwarded both sides run the same code: '
     'how far their ratios lie from 1 is the noise of this machine. (A few count as forwarded because the one call that is traced tried the '
     'other route, see [routing.md](routing.md).)'),
    ('Before and after the rebuilding: products', 'epyc-2core/house/2026-11-27T1417-2087bde61701.jsonl', ['bench/table.py'],
     'Two builds in turns, f602176 and one after the rebuilding that [structure.md](structure.md) describes: one thread of a quiet virtual machine at real-time '
     'priority, where two equal builds differ by up to 10 % in a row, more in first calls. Made by `bench/run.py --against`.'),
    ('Before and after the rebuilding: programs', 'epyc-2core/house/2026-11-27T1416-2087bde61701.jsonl', ['bench/pipelines.py', '--markdown'],
     'The programs of `examples/` likewise, the least of eleven processes each. Made by `bench/pipelines.py --against`.'),
    ('On a GPU: unchanged GraphBLAS programs', 'h200/drop-in/2026-11-22T1417-b33900852713.jsonl',
     ['bench/table.py', '--all'],
     'Operands in host memory; SuiteSparse on the processor beside the GPU. Made by `tools/gpu-check.sh`.'),
    ('On a GPU: whole programs', 'h200/pipelines/2026-11-22T1512-976085fe888a.jsonl',
     ['bench/pipelines.py', '--markdown'],
     'The programs of `examples/` ([examples.md](examples.md)), several turns in one process, in brackets `TESSERA_MODE`. "With the answer read" counts its transfer '
     'too. "All turns" is the ratio of everything from the first turn to the last, the start of CUDA included. "Time / device" is the time of a later turn over what the device took for its calls: uploads of operands in a call count, '
     'downloads do not. "Moved" is what crossed the bus in a later turn while it was computed. SuiteSparse on the processor beside the GPU. '
     'Made by `tools/gpu-check.sh`.'),
    ('On a GPU: sparse times sparse', 'h200/spgemm/2026-11-29T2157-643300891e90.jsonl',
     ['bench/cuda/spgemm_table.py'],
     'Kernels alone ([kernels-spgemm.md](kernels-spgemm.md)): what `GrB_mxm` takes, C on the host, stands there. Operands on the device, everything from there to C, memory from a pool; GFLOP/s at two for a product. '
     'cuSPARSE: the best of ALG1, ALG2 and ALG3 in the same run. "Values only" and "reuse": other values in a known pattern (failed: a call of cuSPARSE did). Memory beside the operands, '
     'C included, in sizes of C (12 bytes an entry). The last columns: FP32 and counts in 32 bits over the best of cuSPARSE in FP32. Every result was checked. '
     'A matrix that is not square is multiplied by its transpose, the others by themselves; generated ones are in `bench/cuda/products.cu`. Made by `bench_spgemm`.'),
    ('On a GPU: kernels, more widths', 'h200/widths/2026-11-22T1202-e5e9dceb75c3.jsonl',
     ['bench/cuda/table.py', '--markdown', '--best', '--generated'],
     'As below. The rows of "tf32" include FP16 kernels over scaled operands ([numerics.md](numerics.md)); finding the range of B and rounding it is in their time. Made by '
     '`bench_gpu --n 128,32,256,512`.'),
    ('On a GPU: kernels', 'h200/spmm/2026-11-22T0257-c0225da01010.jsonl',
     ['bench/cuda/table.py', '--markdown', '--best', '--generated'],
     'Operands on the device, the best of cuSPARSE\'s algorithms in the same run; geometric means against cuSPARSE FP32 and FP64 in the last '
     'columns. Matrices are generated with the densities of well-known data sets (`bench/cuda/matrices.cu`). Made by `tools/gpu-check.sh`.'),
]


# Records that other pages do not cite.
MORE = (('whole programs on one thread of an Intel Xeon, two turns on a busy machine, an earlier version', 'xeon-2core/pipelines/2026-11-22T2222-2abab00b827b.jsonl'),
        ('a GCN of two layers on a CPU, 57 million edges, 4 threads', 'xeon-4core/pipelines/2026-11-22T0910-fc2c49f0259c-dirty.jsonl'),
        ('masked products on a GPU', 'h200/masked/2026-11-21T2347-6c43297495ff.jsonl'))
SUPPORT = """## What is computed here

Everything else is forwarded to SuiteSparse. "Real types" are the eleven built-in ones: bool, int8 to int64, uint8 to uint64, FP32, FP64.

| Operation | Types | Operators | Formats of the operands | CPU | GPU |
|---|---|---|---|---|---|
| sparse × dense, either side (`GrB_mxm`, `mxv`, `vxm`) | real types | plus, min, max, any, lor × times, first, second, pair, plus, and | sparse or hypersparse × full or bitmap, by row or by column | yes; `mxv` where SuiteSparse is slower than the memory allows | yes |
| the same, FP32 rounded to TF32, BF16, FP16 | FP32 | plus_times | as above | – | on request ([numerics.md](numerics.md)) |
| sparse vector × sparse matrix, and elementwise calls between such products | real types | as above | sparse vector, or at most 64 rows or columns | yes ([few sparse vectors](routing.md#few-sparse-vectors)) | the product |
| sampled dense × dense, `C<S> = X·Y'` | real types | as above | full X and Y, sparse mask | yes | yes |
| `C<M> = A·B` of sparse A, B, M | real types | as above | sparse, mask not complemented | yes | yes |
| `C = A·B`, `C<!M> = A·B` of sparse A, B, M | real types | as above | sparse or hypersparse | yes, from 65,536 products on | yes |
| full × full | FP32, FP64 | plus_times | full | yes | yes |
| apply, eWiseAdd, eWiseMult, select, assign, extract of all | real types | built-in | full, bitmap | where SuiteSparse is slower than the memory allows | where an operand is there already |
| apply, eWiseAdd, eWiseMult; select by value or place, extract by lists | real types | built-in | sparse | of one pattern, where SuiteSparse is slower than the memory allows | where an operand is there already |
| reduce, transpose | real types | built-in monoids | full, bitmap | sums of rows or columns of full matrices | where the operand is there already |

Details: [drop-in.md](drop-in.md); who decides, and how: [routing.md](routing.md)."""


def anchor(title):
    """As GitHub makes it."""
    return re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')


def main():
    print('# Benchmarks\n\nMade from the records in `bench/results` by `tools/scripts/make_benchmarks.py`; how to measure: '
          '[CONTRIBUTING.md](../CONTRIBUTING.md). For your own matrices: `tessera bench` ([tool.md](tool.md)).\n')
    titles = ['What is computed here', 'Whole programs at a glance', *(title for title, *_ in TABLES)]
    print('\n'.join(f'- [{title}](#{anchor(title)})' for title in titles))
    print(f'\n{SUPPORT}')
    print('\n## Whole programs at a glance\n\n![Times as fast as SuiteSparse alone: six unchanged programs](pictures/programs.svg)\n\n'
          f'Made by `tools/scripts/make_pictures.py` from `{make_pictures.CPU}` and `{make_pictures.GPU}`; in numbers: [README](../README.md).')
    for title, name, command, words in TABLES:
        record = f'bench/results/{name}'
        table = subprocess.run(['python3', *command, record], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        print(f'\n## {title}\n\n{words} Record: `{record}`.\n\n{table.strip()}')
    print('\n## More records\n\n' + '\n'.join(f'- {words}: `bench/results/{name}`' for words, name in MORE))


if __name__ == '__main__':
    main()
