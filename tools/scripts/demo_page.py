"""The demo's results as one page that needs nothing beside it.

SPDX-License-Identifier: Apache-2.0"""
import html
import os
import platform
import time

CSS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'page', 'page.css')
ROOM = 72  # percent of the track for the longest bar; the rest is for its number


def processor():
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            return next(line.split(':', 1)[1].strip() for line in file if line.startswith('model name'))
    except (OSError, StopIteration):
        return platform.machine()


def bar(kind, ms, longest):
    return f'<div class="bar"><i class="{kind}" style="width:{max(0.3, ROOM * ms / longest):.1f}%"></i>{ms:,.2f} ms</div>'


def bars_of(row):
    """Both times of one step, each pair to its own scale: steps of a millisecond stay visible beside those of seconds."""
    longest = max(row['plain_ms'], row['tessera_ms'], 1e-9)
    judged = 'good' if row['ratio'] >= 1.1 else 'bad' if row['ratio'] < 0.9 else ''
    return (f'<div class="rule"></div><div class="name">{html.escape(row["step"])}<br><span class="soft">{html.escape(row["route"])}</span></div>'
            f'<div class="ratio {judged}">{row["ratio"]:.2f}×</div>'
            f'<div class="track">{bar("plain", row["plain_ms"], longest)}{bar("ours", row["tessera_ms"], longest)}</div>')


def section(result):
    answers = f'<p class="soft">Answers: {html.escape("; ".join(result["answers"]))}</p>\n' if result['answers'] else ''
    return f'<h2>{html.escape(result["graph"])}</h2>\n<div class="bars">{"".join(map(bars_of, result["rows"]))}</div>\n{answers}'


def write(path, results, words, measured=''):
    """results: of demo.show; words: what they come to; measured: where and when, if not here and now."""
    measured = measured or f'{processor()}, {os.cpu_count()} processors, {time.strftime("%Y-%m-%d %H:%M")}'
    with open(CSS, encoding='utf-8') as file:
        css = file.read()
    page = (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<title>Tessera: unchanged programs, plain and accelerated</title>\n<style>\n{css}</style></head>\n<body>\n'
            f'<h1>The same GraphBLAS programs, plain and through Tessera</h1>\n<p>{html.escape(words)}</p>\n'
            f'<p class="soft">{html.escape(measured)}. '
            'Median of the turns, which the two sides take in turns.'
            '<br><span class="key plain" style="margin-left:0"></span>SuiteSparse:GraphBLAS alone<span class="key ours"></span>with Tessera</p>\n'
            + ''.join(map(section, results))
            + '<h2>Next</h2>\n<p><code>tessera run -- ./your-program</code> starts your own program the same way; '
            '<code>--verbose=1</code> prints a summary at its end.</p>\n</body></html>\n')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(page)
