#!/usr/bin/env python3
"""Make docs/benchmarks.md from the newest records in bench/results.

usage: make_benchmarks.py > docs/benchmarks.md     SPDX-License-Identifier: Apache-2.0"""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Title, pattern of the record's name, command that makes the table, what to say.
TABLES = [
    ('On a CPU: unchanged GraphBLAS programs', '*-headline-*.json', ['bench/table.py'],
     'The same program plain and with Tessera preloaded, taking turns; medians of warm calls, the first call (with whatever it builds) beside them. '
     'Made by `bench/run.py --grid headline`.'),
    ('On a CPU: the whole grid', '*-grid-*.json', ['bench/table.py', '--summary'],
     'Types, semirings, widths and layouts, made by `bench/run.py --grid full`. Where a product is forwarded both sides run the same code: '
     'how far their ratios lie from 1 is the noise of this machine. (A few count as forwarded because the one call that is traced tried the '
     'other route, see [routing.md](routing.md).)'),
    ('On a GPU: unchanged GraphBLAS programs', '*-drop-in.json', ['bench/table.py', '--all'],
     'Operands in host memory; SuiteSparse on the processor beside the GPU. Made by `tools/gpu-check.sh`.'),
    ('On a GPU: whole programs', '*-pipelines.json', ['bench/pipelines.py', '--markdown'],
     'The programs of `examples/` ([examples.md](examples.md)), several turns in one process, in brackets `TESSERA_MODE`; "with the answer read" counts its transfer '
     'too; "all turns" is the ratio of everything from the first turn to the last, the start of CUDA included; "time / device" is the time of a later turn over what the device took for its calls (the copies of operands in a call count, '
     'what comes home does not); "moved" is what crossed the bus in a later turn while it was computed. SuiteSparse on the processor beside the GPU. '
     'Made by `tools/gpu-check.sh`.'),
    ('On a GPU: kernels, more widths', '*-h200-widths.jsonl', ['bench/cuda/table.py', '--markdown', '--best', '--generated'],
     'As below. "tf32" takes FP16 kernels over scaled operands in ([numerics.md](numerics.md)), the range and the rounding of B timed with them. Made by '
     '`bench_gpu --n 128,32,256,512`.'),
    ('On a GPU: kernels', '*-h200.jsonl', ['bench/cuda/table.py', '--markdown', '--best', '--generated'],
     'Operands on the device, the best of cuSPARSE\'s algorithms in the same run; geometric means against cuSPARSE FP32 and FP64 in the last '
     'columns. Matrices are generated with the densities of well-known data sets (`bench/cuda/matrices.cu`). Made by `tools/gpu-check.sh`.'),
]


def main():
    print('# Benchmarks\n\nMade from the records in `bench/results` by `tools/scripts/make_benchmarks.py`; how to measure: '
          '[CONTRIBUTING.md](../CONTRIBUTING.md). For your own matrices: `tessera bench` ([tool.md](tool.md)).')
    for title, pattern, command, words in TABLES:
        records = sorted((ROOT / 'bench' / 'results').glob(pattern))
        if not records:
            continue
        record = records[-1]
        table = subprocess.run(['python3', *command, str(record)], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        print(f'\n## {title}\n\n{words} Record: `{record.relative_to(ROOT)}`.\n\n{table.strip()}')


if __name__ == '__main__':
    main()
