#!/usr/bin/env python3
"""A text file as a C string: embed.py INPUT OUTPUT NAME      SPDX-License-Identifier: Apache-2.0"""
import json
import sys

with open(sys.argv[1], encoding='utf-8') as file, open(sys.argv[2], 'w', encoding='utf-8') as out:
    out.write(f'/* From {sys.argv[1].rsplit("/", 1)[-1]} by tools/page/embed.py.  SPDX-License-Identifier: Apache-2.0 */\n')
    out.write(f'static const char {sys.argv[3]}[] =\n' + ''.join(f'    {json.dumps(line, ensure_ascii=False)}\n' for line in file) + '    ;\n')
