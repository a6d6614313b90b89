#!/usr/bin/env python3
"""Make docs/pictures/programs.svg and the table of README.md from records of whole programs.

usage: make_pictures.py [--check]     --check: change nothing, fail where they are not what the records give
SPDX-License-Identifier: Apache-2.0"""
import math
import pathlib
import re
import statistics
import sys
from html import escape

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'bench'))
import record  # pylint: disable=wrong-import-position

CPU = 'bench/results/epyc-2core/pipelines/2026-11-24T1156-30f9fc435100.jsonl'
GPU = 'bench/results/h200/pipelines/2026-11-22T1512-976085fe888a.jsonl'
PROGRAMS = (('gcn', 'graph convolutional network, 2 layers'), ('ktruss', '3-truss'), ('triangles', 'triangle count'),
            ('ppr', 'personalised PageRank, 64 seeds'), ('betweenness', 'betweenness, 32 sources'), ('pagerank', 'PageRank'))
# Class, words, record, which rows: of what is drawn and tabled.
SERIES = (('real', 'CPU, real graphs', CPU, lambda row: row['mode'] == 'cpu' and not synthetic(row)),
          ('rmat', 'CPU, R-MAT', CPU, lambda row: row['mode'] == 'cpu' and synthetic(row)),
          ('gpu', 'GPU, R-MAT 20', GPU, lambda row: row['mode'] == 'auto'))
BEGIN, END = '<!-- table of programs: tools/scripts/make_pictures.py -->', '<!-- end -->'


def synthetic(row):
    return row['graph'].startswith(('rmat', 'communities'))


def ratios(program, path, wanted):
    """Of every graph, warm turns."""
    return [row['ratio'] for row in record.read(ROOT / path)[1] if row['pipeline'] == program and wanted(row)]


def times(ratio):
    return f'{ratio:.1f}×' if ratio < 9.95 else f'{ratio:.0f}×'


def cell(values):
    if not values:
        return 'not measured'
    mean = times(statistics.geometric_mean(values))
    return mean if len(values) == 1 else f'{mean} ({times(min(values))[:-1]} to {times(max(values))})'


def table():
    lines = ['| unchanged program | ' + ' | '.join(words for _, words, _, _ in SERIES) + ' |', '|---|' + '---:|' * len(SERIES)]
    for program, words in PROGRAMS:
        lines.append(f'| {words} | ' + ' | '.join(cell(ratios(program, path, wanted)) for _, _, path, wanted in SERIES) + ' |')
    return '\n'.join(lines)


# ---- the picture ----

WIDTH, LEFT, ROOM, TOP, BAR, GROUP = 860, 290, 470, 86, 17, 68
LEAST, MOST = 0.7, 400
STYLE = ("text{font:13px 'DejaVu Sans',system-ui,sans-serif;fill:#1b1f24}.title{font-size:17px;font-weight:bold}.soft{fill:#59636e;font-size:12px}.number{text-anchor:end}.scale{text-anchor:middle}"
         '.back{fill:#fff}.real{fill:#2166ac}.rmat{fill:#92b8dd}.gpu{fill:#d9690a}.grid{stroke:#d8dee4}.one{stroke:#59636e}'
         '@media (prefers-color-scheme:dark){text{fill:#e6e9ec}.soft{fill:#a3adb8}.back{fill:#14181d}.real{fill:#58a6e8}.rmat{fill:#2f6299}.gpu{fill:#f0964a}'
         '.grid{stroke:#333b44}.one{stroke:#a3adb8}}')


def place(ratio):
    """On a scale of powers."""
    return LEFT + ROOM * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def text(x, y, kind, words):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(words)}</text>'


def group(program, words, y):
    """Three bars of one program."""
    lines = [text(LEFT - 12, y + 1.5 * BAR + 4, 'number', words)]
    for k, (kind, _, path, wanted) in enumerate(SERIES):
        values, top = ratios(program, path, wanted), y + k * BAR
        if not values:
            lines.append(text(place(1) + 6, top + 12, 'soft', 'not measured'))
            continue
        mean = statistics.geometric_mean(values)
        left, right = sorted((place(1), place(mean)))
        lines.append(f'<rect x="{left:.1f}" y="{top + 2}" width="{max(1.5, right - left):.1f}" height="{BAR - 4}" rx="2" class="{kind}"/>')
        lines.append(text(right + 6, top + 13, 'soft', cell(values)))
    return lines


def picture():
    height = TOP + len(PROGRAMS) * GROUP + 24
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
             '<title>How many times as fast six unchanged GraphBLAS programs are with Tessera, on a CPU and on a GPU</title>',
             f'<style>{STYLE}</style>', f'<rect class="back" width="{WIDTH}" height="{height}"/>',
             text(16, 30, 'title', 'Unchanged programs: times as fast as SuiteSparse:GraphBLAS alone')]
    x = 16
    for kind, words, _, _ in SERIES:
        lines += [f'<rect x="{x}" y="46" width="12" height="12" rx="2" class="{kind}"/>', text(x + 18, 57, '', words)]
        x += 40 + 9 * len(words)
    for ratio in (1, 2, 5, 10, 20, 50, 100, 200):
        kind = 'one' if ratio == 1 else 'grid'
        lines += [f'<line x1="{place(ratio):.1f}" y1="{TOP - 6}" x2="{place(ratio):.1f}" y2="{height - 12}" class="{kind}"/>',
                  text(place(ratio), TOP - 10, 'soft scale', f'{ratio}×')]
    for k, (program, words) in enumerate(PROGRAMS):
        lines += group(program, words, TOP + 8 + k * GROUP)
    return '\n'.join(lines) + '\n</svg>\n'


def made():
    """What every file should hold."""
    readme = (ROOT / 'README.md').read_text(encoding='utf-8')
    return {'README.md': re.sub(f'{re.escape(BEGIN)}.*?{re.escape(END)}', lambda _: f'{BEGIN}\n{table()}\n{END}', readme, flags=re.S),
            'docs/pictures/programs.svg': picture()}


def main():
    check = sys.argv[1:] == ['--check']
    if sys.argv[1:] and not check:
        sys.exit(__doc__.split('\n\n')[1])
    for name, wanted in made().items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding='utf-8') == wanted:
            continue
        if check:
            sys.exit(f'{name} is not what tools/scripts/make_pictures.py makes of the records')
        path.write_text(wanted, encoding='utf-8')


if __name__ == '__main__':
    main()
