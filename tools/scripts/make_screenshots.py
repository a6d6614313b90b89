#!/usr/bin/env python3
"""Make the pictures of pages and plots in docs/pictures, light and dark, from a build (needs chromium).

usage: make_screenshots.py BUILD     SPDX-License-Identifier: Apache-2.0"""
import os
import pathlib
import subprocess
import sys
import tempfile

import chromium
import demo_page
import make_pictures

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / 'docs' / 'pictures'


def run(*command):
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def demo_of_records(path):
    """The demo's page with what the records of README's picture say."""
    def row(of):
        return {'step': of['pipeline'], 'plain_ms': of['plain_ms'], 'tessera_ms': of['tessera_ms'], 'ratio': of['ratio'], 'route': ', '.join(of['routes'])}
    rows = make_pictures.record.read(ROOT / make_pictures.CPU)[1]
    graphs = list(dict.fromkeys(of['graph'] for of in rows))[:2]
    demo_page.write(path, [{'graph': graph, 'rows': [row(of) for of in rows if of['graph'] == graph], 'answers': []} for graph in graphs],
                    'From the record of README.md.')


def matrix(path):
    """A band and some far entries."""
    entries = sorted({(i, j) for i in range(3000) for j in (i, (i + 1) % 3000, (i + 2) % 3000, i * i % 3000) if i >= j})
    path.write_text(f'%%MatrixMarket matrix coordinate pattern symmetric\n3000 3000 {len(entries)}\n' + ''.join(f'{i + 1} {j + 1}\n' for i, j in entries),
                    encoding='ascii')


def main():
    if len(sys.argv) != 2 or not chromium.find():
        sys.exit(__doc__.split('\n\n')[1] if chromium.find() else 'chromium is not here (Debian: chromium)')
    build = pathlib.Path(sys.argv[1]).resolve()
    tessera = build / 'tools' / 'tessera'
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        matrix(folder / 'band.mtx')
        demo_of_records(folder / 'demo.html')
        run(tessera, 'run', '--mode=cpu', '--report=' + str(folder / 'report.html'), '--', build / 'examples' / 'ktruss', 'rmat:11')
        run(tessera, 'inspect', '--plot=' + str(folder / 'inspect.svg'), folder / 'band.mtx')
        run(tessera, 'bench', '--op=all', '--n=32', '--budget=200', '--plot=' + str(folder / 'bench.svg'), folder / 'band.mtx')
        with chromium.Chromium() as browser:
            for page, width in (('demo.html', 1000), ('demo.html', 400), ('report.html', 1000), ('inspect.svg', 1240), ('bench.svg', 860)):
                for theme in ('light', 'dark'):
                    browser.show(folder / page, width, theme == 'dark', 560)
                    browser.picture(PICTURES / f'{os.path.splitext(page)[0]}-{width}-{theme}.png')


if __name__ == '__main__':
    main()
