#!/usr/bin/env python3
"""Writes the C of a library that times every GraphBLAS call of a program: preloaded, ahead of Tessera where that is timed too, it writes the
name, the number of calls, and their ms of CPU time of the calling thread and by the clock into the file CALL_TIMES, when the process ends or
gets SIGTERM.  Calls that the library makes itself belong to the call that made them.

usage: call_times.py DECLARATIONS_FOLDER call_times.c
SPDX-License-Identifier: Apache-2.0"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'src', 'graphblas', 'intercept', 'generate'))
import declarations  # noqa: E402

HEAD = r"""/* Made by bench/call_times.py.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <GraphBLAS.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct called {
    const char *name;
    void *real;
    _Atomic int64_t calls, cpu_ns, clock_ns;
} called;

static called all[];
static _Thread_local int depth;

typedef struct started {
    int64_t cpu_ns, clock_ns;
} started;

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *real_of(called *c)
{
    if (!c->real && !(c->real = dlsym(RTLD_NEXT, c->name))) {
        fprintf(stderr, "call_times: no %s\n", c->name);
        abort();
    }
    return c->real;
}

static started begin(void)
{
    return depth++ ? (started){0} : (started){now(CLOCK_THREAD_CPUTIME_ID), now(CLOCK_MONOTONIC)};
}

static void end(called *c, started at)
{
    if (--depth)
        return;
    c->calls++;
    c->clock_ns += now(CLOCK_MONOTONIC) - at.clock_ns;
    c->cpu_ns += now(CLOCK_THREAD_CPUTIME_ID) - at.cpu_ns;
}
"""

TAIL = r"""
static void write_times(void)
{
    const char *path = getenv("CALL_TIMES");
    FILE *file = path ? fopen(path, "w") : NULL;
    for (called *c = all; file && c->name; c++)
        if (c->calls)
            fprintf(file, "%s %lld %.6f %.6f\n", c->name, (long long)c->calls, (double)c->cpu_ns / 1e6, (double)c->clock_ns / 1e6);
    if (file)
        fclose(file);
}

static void leave(int signal)
{
    write_times();
    _exit(128 + signal);
}

__attribute__((constructor)) static void prepare(void)
{
    signal(SIGTERM, leave);
}

__attribute__((destructor)) static void finish(void)
{
    write_times();
}
"""


def wrapper(number, prototype):
    """A function of the library around the next one of its name."""
    parameters = ', '.join(p.declare(f'a{k}') for k, p in enumerate(prototype.parameters)) or 'void'
    call = 'real(' + ', '.join(f'a{k}' for k in range(len(prototype.parameters))) + ')'
    returns = prototype.returns != 'void'
    body = [f'{prototype.returns} (*real)({parameters});', f'*(void **)&real = real_of(&all[{number}]);', 'const started at = begin();',
            (f'const {prototype.returns} result = ' if returns else '') + call + ';', f'end(&all[{number}], at);'] + ['return result;'] * returns
    return '\n'.join(['', f'{prototype.returns} ({prototype.name})({parameters})', '{', *('    ' + line for line in body), '}'])


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__.strip())
    timed = [prototype for prototype in declarations.read(arguments[0])[1].values()
             if not prototype.varargs and 'terator' not in prototype.name]  # those of iterators take no time to speak of
    table = ['', 'static called all[] = {', *(f'    {{"{prototype.name}", NULL, 0, 0, 0}},' for prototype in timed), '    {NULL, NULL, 0, 0, 0},', '};']
    with open(arguments[1], 'w', encoding='utf-8') as target:
        target.write(HEAD + '\n'.join(table + [wrapper(number, prototype) for number, prototype in enumerate(timed)]) + '\n' + TAIL)


if __name__ == '__main__':
    main(sys.argv[1:])
