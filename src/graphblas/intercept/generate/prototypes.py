"""Finds the prototypes of the GraphBLAS API in a preprocessed header.

SPDX-License-Identifier: Apache-2.0
"""

import re
from dataclasses import dataclass, field

FUNCTION_NAME = re.compile(r'^(?:GrB|GxB)_\w+$|^GB_Iterator_attach$')
QUALIFIERS = {'const', 'volatile', 'restrict'}
BASE_WORDS = {'void', 'char', 'short', 'int', 'long', 'float', 'double', 'signed', 'unsigned', '_Bool', '_Complex',
              'struct', 'union', 'enum'}
NOISE = re.compile(r'\b(?:extern|__extension__|_Noreturn|__inline|__inline__|inline|register)\b')


class HeaderError(Exception):
    """The header holds something this generator does not understand."""


@dataclass
class Parameter:
    """One parameter.  kind: 'value' (base type + stars), 'callback' or 'varargs'."""
    kind: str
    base: str = ''            # 'GrB_Matrix', 'unsigned int', '' for callbacks and varargs
    const: bool = False       # the base type is const
    stars: int = 0            # pointer levels, an array counts as one
    name: str = ''            # may be empty: from 9.0 many prototypes are unnamed
    callback: tuple = ()      # (return type, parameter list) of a function pointer

    def declare(self, name):
        """C declaration of this parameter under another name."""
        if self.kind == 'varargs':
            return '...'
        if self.kind == 'callback':
            return '%s (*%s)(%s)' % (self.callback[0], name, self.callback[1])
        return '%s%s %s%s' % ('const ' if self.const else '', self.base, '*' * self.stars, name)


@dataclass
class Prototype:
    name: str
    returns: str
    parameters: list = field(default_factory=list)
    roles: list = field(default_factory=list)   # [(argument number, role, handle type)], see classify.py

    @property
    def varargs(self):
        return bool(self.parameters) and self.parameters[-1].kind == 'varargs'


def _strip_calls(text, word):
    """Remove every `word ( ... )` with balanced parentheses."""
    out, position = [], 0
    for match in re.finditer(r'\b%s\s*\(' % word, text):
        if match.start() < position:
            continue
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {'(': 1, ')': -1}.get(text[end], 0)
            end += 1
        out.append(text[position:match.start()])
        position = end
    return ''.join(out) + text[position:]


def clean(text):
    """Line markers, comments, strings, attributes and keywords without meaning for a caller are dropped."""
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    text = re.sub(r'//[^\n]*', ' ', text)
    text = re.sub(r'^[ \t]*#.*$', ' ', text, flags=re.M)
    text = re.sub(r'extern\s+"C(?:\+\+)?"\s*\{', ' ', text)
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', text)
    for word in ('__attribute__', '__asm__', '__asm', 'asm', '__declspec'):
        text = _strip_calls(text, word)
    text = re.sub(r'\b__(?:restrict|restrict__)\b', 'restrict', text)
    return re.sub(r'\s+', ' ', NOISE.sub(' ', text))


def declarations(text):
    """Top-level declarations (text before ';'); bodies and initialisers in braces are dropped with what they define."""
    depth, start, braces, body = 0, 0, 0, False
    for position, char in enumerate(text):
        if char == '{':
            braces += 1
            body = body or ')' in text[start:position]
        elif char == '}':
            braces -= 1
            if braces == 0 and body:
                start, body = position + 1, False
        elif braces == 0 and char in '()':
            depth += 1 if char == '(' else -1
        elif char == ';' and braces == 0 and depth == 0:
            yield text[start:position].strip()
            start = position + 1


def split_parameters(text):
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        if char in '([':
            depth += 1
        elif char in ')]':
            depth -= 1
        elif char == ',' and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    parts.append(text[start:].strip())
    return [] if parts in ([''], ['void']) else parts


def parse_parameter(text, where):
    if text == '...':
        return Parameter('varargs')
    match = re.match(r'^(.*?)\(\s*\*\s*(\w*)\s*\)\s*\((.*)\)$', text)
    if match:
        return Parameter('callback', name=match[2], callback=(match[1].strip(), match[3].strip()))
    arrays = len(re.findall(r'\[[^\]]*\]', text))
    plain = re.sub(r'\[[^\]]*\]', ' ', text)
    tokens = re.findall(r'\w+|\*|\S', plain)
    stars = tokens.count('*') + arrays
    head = tokens[:tokens.index('*')] if '*' in tokens else tokens
    tail = tokens[len(head):]
    words = [t for t in head if t not in QUALIFIERS]
    names = [t for t in tail if t != '*' and t not in QUALIFIERS]
    if not tail and len(words) > 1 and words[-1] not in BASE_WORDS and words[0] not in ('struct', 'union', 'enum'):
        names = [words.pop()]
    elif not tail and len(words) > 2:
        names = [words.pop()]
    if not words or len(names) > 1 or any(not re.match(r'^\w+$', w) for w in words + names):
        raise HeaderError('%s: cannot read the parameter "%s"' % (where, text))
    return Parameter('value', ' '.join(words), 'const' in head, stars, names[0] if names else '')


def parse_declaration(text):
    """The prototype of a GraphBLAS function, or None for any other declaration."""
    match = re.match(r'^([\w \*]+?)[ \*]*\b(\w+) ?\((.*)\)$', text)
    if not match or not FUNCTION_NAME.match(match[2]):
        return None
    returns = text[:match.start(2)].strip()
    if not returns or returns.split()[0] in ('typedef', 'static', 'return', 'else'):
        return None
    parameters = [parse_parameter(p, match[2]) for p in split_parameters(match[3].strip())]
    return Prototype(match[2], returns, parameters)


def parse_header(text):
    """All prototypes of a preprocessed header by name, in the order of the header."""
    found = {}
    for declaration in declarations(clean(text)):
        prototype = parse_declaration(declaration)
        if prototype and prototype.name not in found:
            found[prototype.name] = prototype
    if 'GrB_mxm' not in found:
        raise HeaderError('no prototype of GrB_mxm: not a GraphBLAS header')
    return found
