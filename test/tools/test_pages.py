#!/usr/bin/env python3
"""The pages of `tools/demo.sh --html` and `tessera run --report` and the pictures, in headless Chromium: no script error, no request to
anybody, no wider than the window and letters that can be read at 400 and 1400 pixels, light and dark.

usage: test_pages.py TESSERA PROGRAM     SPDX-License-Identifier: Apache-2.0"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools' / 'scripts'))
import chromium  # pylint: disable=wrong-import-position
import demo_page  # pylint: disable=wrong-import-position

if not chromium.find():
    print('not run: chromium is not here (Debian: chromium)')
    sys.exit(77)

TESSERA, PROGRAM = sys.argv[1:3]
ROWS = [{'step': f'betweenness: step {k}', 'plain_ms': 10.0 ** k, 'tessera_ms': 3.0, 'ratio': 10.0 ** k / 3, 'route': 'cpu:spmm_csr_avx512 ×20, suitesparse ×3'}
        for k in range(6)]


# Cells of one word that take more than one line.
BROKEN = """[...document.querySelectorAll('td')].filter(e => { const text = document.createRange(); text.selectNodeContents(e);
  return !/\\s/.test(e.textContent) && text.getBoundingClientRect().height > 30; }).map(e => e.textContent)"""


def pages(folder):
    demo, report, forwarded = (os.path.join(folder, name) for name in ('demo.html', 'report.html', 'forwarded.html'))
    demo_page.write(demo, [{'graph': 'R-MAT 16 (random)', 'rows': ROWS, 'answers': ['triangles 45'] * 8}], 'Words about ' * 20)
    environment = {name: value for name, value in os.environ.items() if not name.startswith('TESSERA_')}
    for path, mode, graph in ((report, 'cpu', 'rmat:10'), (forwarded, 'auto', 'karate')):
        subprocess.run([TESSERA, 'run', f'--mode={mode}', '--min-work=0', '--report=' + path, '--', PROGRAM, graph], env=environment,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return demo, report, forwarded


with tempfile.TemporaryDirectory() as place, chromium.Chromium() as browser:
    for page in pages(place):
        colours = set()
        for width in (400, 1400):
            for dark in (False, True):
                seen = browser.show(page, width, dark)
                where = f'{os.path.basename(page)} at {width} pixels'
                assert not seen['requests'], f"{where} asks for {seen['requests']}"
                assert not seen['errors'], f"{where}: {seen['errors']}"
                assert seen['width'] <= width, f"{where} is {seen['width']} pixels wide"
                assert not seen['cut'], f"{where} shows only a part of {seen['cut']}"
                assert not (broken := browser.evaluate(BROKEN)), f'{where} breaks the words {broken}'
                assert seen['smallest'] >= 8, f"{where} has letters of {seen['smallest']:.1f} pixels"
                colours.add(seen['dark'])
        assert len(colours) == 2, f'{page}: light and dark look the same'
    for picture in sorted((ROOT / 'docs' / 'pictures').glob('*.svg')):
        seen = browser.show(picture, 1400)
        assert not seen['requests'] and not seen['errors'], f'{picture}: {seen}'
print('pages: ok')
