#!/usr/bin/env python3
"""Make docs/native-reference.md from include/tessera/tessera.h, attention.h and spgemm.h: sections, comments and declarations.

usage: make_reference.py > docs/native-reference.md     SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[2] / 'include' / 'tessera'
SECTION = re.compile(r'/\* ---- (.*) ---- \*/')


def text_of(comment):
    """A C comment as plain lines."""
    return re.sub(r'^ ?\* ?', '', comment.strip()[2:-2].strip('\n'), flags=re.M).strip()


def names_of(code):
    """What a piece of code declares: functions, else types, else macros."""
    patterns = (r'\b(tsr_\w+)\(', r'\} (tsr_\w+);', r'typedef struct \w+ (\w+);', r'^#define (\w+)', r'^    (TSR_\w+)\b')
    return next((found for found in (re.findall(p, code, re.M) for p in patterns) if found), [])


def pieces(text):
    """(comment, code) of every block: a comment and what follows up to the next empty line outside braces."""
    for block in re.split(r'\n\n(?=/\*|#define|TSR_PUBLIC|typedef|enum)', text):
        match = re.match(r'\s*(/\*.*?\*/)?\s*(.*)', block, re.S)
        yield match[1], match[2].strip()


def split(name, begin):
    """What a header says first, and its declarations from `begin` on."""
    text = (FOLDER / name).read_text(encoding='utf-8')
    return text_of(text[:text.index('*/') + 2]).replace('SPDX-License-Identifier: Apache-2.0', '').strip(), text[text.index(begin) + len(begin):text.rindex('#ifdef __cplusplus')]


def show(text):
    """Every declaration with its comment."""
    for comment, code in pieces(text):
        names = names_of(code)
        if names:
            print(f'\n### {", ".join(f"`{name}`" for name in names[:4])}{", …" if len(names) > 4 else ""}\n')
        if comment:
            print(text_of(comment) + '\n')
        if code:
            print(f'```c\n{code.replace("TSR_PUBLIC ", "")}\n```')


def main():
    first, body = split('tessera.h', '#define TESSERA_VERSION_MAJOR')
    print('# Reference of the native interface\n\nMade from the headers in `include/tessera` by `tools/scripts/make_reference.py`.'
          ' [native.md](native.md) shows how the parts go together.\n')
    print(first)
    parts = re.split(SECTION, body)
    for title, text in zip(parts[1::2], parts[2::2]):
        print(f'\n## {title}')
        show(text)
    for name in ('attention.h', 'spgemm.h'):
        first, body = split(name, 'extern "C" {\n#endif\n')
        print(f'\n## tessera/{name}\n\n{first}')
        show(body)


if __name__ == '__main__':
    main()
