#!/usr/bin/env python3
"""Compile each header alone, without warnings, and twice in one file (include guards).

usage: compile_headers.py SOURCE_ROOT BUILD_ROOT [--cpp] [--graphblas] -- COMPILER [ARGUMENT...]
With --graphblas those that include the system's GraphBLAS.h as well.
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import subprocess
import sys

PUBLIC = ("include/tessera/tessera.h", "include/tessera/backend.h", "include/tessera/device.h", "src/format/blocks/formats.h", "src/format/order/row_order.h",
          "src/format/blocks/degrees.h")
FOLDERS = ("include", "src", "kernels", "backends/cpu", "tools", "test", "bench")
# Included in the middle of a file, several times, with macros set: not meant to stand alone.
TEMPLATE_MARK = "Included several times"
# Headers of C++ code (kernels, emulator, GPU benchmark) begin so; those of C have include guards.
CPP_MARK = "#pragma once"


def internal_headers(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.h")):
            text = path.read_text(encoding="utf-8")[:2000]
            if TEMPLATE_MARK not in text and CPP_MARK not in text:
                yield path.relative_to(root).as_posix()


def includes(root, header, name):
    return any(line.startswith("#include") and name in line for line in (root / header).read_text(encoding="utf-8").splitlines())


def doors(build, header):
    """Folders of what the doors are compiled with: a header of theirs must compile with each."""
    made = sorted((build / "src/graphblas/declarations").glob("*/tsr_functions.h"))
    return [path.parent for path in made] if header.startswith("src/graphblas") else [build]


def compile_alone(compiler, root, build, door, header, cpp):
    language, standard = ("c++", "-std=c++11") if cpp else ("c", "-std=gnu11")
    text = f'#include "{header}"\n#include "{header}"\nextern int tsr_not_empty;\n'
    own = [root / "include"]
    paths = own if cpp else own + [door, build, root / "src/graphblas", root / "examples"]
    command = [*compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", standard, "-x", language,
               *(f"-I{path}" for path in paths), f"-I{root}", "-"]
    return subprocess.run(command, input=text, text=True, capture_output=True, check=False)


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--")
    root, build = (pathlib.Path(path) for path in arguments[:2])
    cpp = "--cpp" in arguments[:split]
    compiler = arguments[split + 1:]
    headers = list(PUBLIC) if cpp else list(internal_headers(root))
    have_graphblas = "--graphblas" in arguments[:split]
    failed = 0
    for header in headers:
        if not have_graphblas and not header.startswith("src/graphblas") and includes(root, header, "GraphBLAS.h"):
            print(f"skipped {header}: no GraphBLAS here")
            continue
        if includes(root, header, "petsc"):
            print(f"skipped {header}: PETSc's are not asked for")
            continue
        for door in doors(build, header):
            result = compile_alone(compiler, root, build, door, header, cpp)
            if result.returncode != 0:
                failed += 1
                print(f"{header} does not compile alone:\n{result.stderr}")
    print(f"{len(headers)} headers, {failed} failed")
    return 1 if failed or len(headers) < len(PUBLIC) else 0


if __name__ == "__main__":
    sys.exit(main())
