#!/usr/bin/env python3
"""Make the pictures of pages and plots in docs/pictures, light and dark, pages 400 and 1400 pixels wide, from a build (needs chromium).

usage: make_screenshots.py BUILD [PAGE…]     PAGE: demo.html, report.html, inspect.svg or bench.svg (on a quiet machine)

SPDX-License-Identifier: Apache-2.0"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import chromium
import demo_page
import make_pictures

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / 'docs' / 'pictures'
WIDTHS = {'demo.html': (400, 1400), 'report.html': (400, 1400), 'inspect.svg': (1240,), 'bench.svg': (860,)}  # plots: as they are


def run(*command):
    subprocess.run([str(word) for word in command], env={**os.environ, 'OMP_NUM_THREADS': '1'}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def demo_of_records(path):
    """The demo's page with what the records of README's picture say."""
    def row(of):
        return {'step': of['pipeline'], 'plain_ms': of['plain_ms'], 'tessera_ms': of['tessera_ms'], 'ratio': of['ratio'], 'route': ', '.join(of['routes'])}
    header, rows = make_pictures.record.read(ROOT / make_pictures.CPU)
    graphs = list(dict.fromkeys(of['graph'] for of in rows))[:2]
    demo_page.write(path, [{'graph': graph, 'rows': [row(of) for of in rows if of['graph'] == graph], 'answers': []} for graph in graphs],
                    f'From {make_pictures.CPU}.', f"{header['device']}, {header['date']}")


def matrix(path):
    """A random graph in which few vertices have many edges."""
    draw = random.Random(1)
    entries = {tuple(sorted((int(16384 * draw.random() ** 3), int(16384 * draw.random() ** 3)), reverse=True)) for _ in range(200000)}
    path.write_text(f'%%MatrixMarket matrix coordinate pattern symmetric\n16384 16384 {len(entries)}\n' + ''.join(f'{i + 1} {j + 1}\n' for i, j in sorted(entries)),
                    encoding='ascii')


def make(name, folder, tessera, build):
    """One page or plot."""
    path = folder / name
    if name == 'demo.html':
        demo_of_records(path)
    elif name == 'report.html':
        run(tessera, 'run', '--mode=cpu', f'--report={path}', '--', build / 'examples' / 'ktruss', 'rmat:11')
    else:
        matrix(folder / 'graph.mtx')
        which = ['inspect'] if name == 'inspect.svg' else ['bench', '--op=all', '--n=32', '--budget=200']
        run(tessera, *which, f'--plot={path}', folder / 'graph.mtx')


def main():
    if len(sys.argv) < 2 or not chromium.find():
        sys.exit(__doc__.split('\n\n')[1] if chromium.find() else 'chromium is not here (Debian: chromium)')
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name, chromium.Chromium() as browser:
        for page in sys.argv[2:] or WIDTHS:
            make(page, pathlib.Path(name), build / 'tools' / 'tessera', build)
            for width in WIDTHS[page]:
                for theme in ('light', 'dark'):
                    browser.show(pathlib.Path(name, page), width, theme == 'dark', 560)
                    browser.picture(PICTURES / f'{os.path.splitext(page)[0]}-{width}-{theme}.webp')


if __name__ == '__main__':
    main()
