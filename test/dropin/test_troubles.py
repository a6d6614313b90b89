#!/usr/bin/env python3
"""A program whose surroundings are wrong: its answer and exit code stay its own, and one line says what is the matter.

usage: test_troubles.py TRIANGLES LIBTESSERA     (the program of examples/)
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LIBRARY = sys.argv[1:3]
HEAD = "%%MatrixMarket matrix coordinate pattern "


def triangles(graph="karate", before=None, **extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    return subprocess.run([PROGRAM, graph], env={**kept, "HOME": "/nonexistent", "LD_PRELOAD": LIBRARY, **extra}, capture_output=True,
                          text=True, timeout=60, check=False, preexec_fn=before)


class Troubles(unittest.TestCase):
    def says(self, text, **extra):
        """The answer is right all the same."""
        result = triangles(**extra)
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "triangles 45"), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertRegex(result.stderr, "^tessera: .*" + text)

    def test_a_trace_that_cannot_be_written(self):
        self.says("cannot write the trace: No space left on device", TESSERA_TRACE="/dev/full")
        self.says("cannot write trace file /nonexistent/t: No such file", TESSERA_TRACE="/nonexistent/t")
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(folder + "/t")
            self.says("cannot write trace file .*/t: nobody reads it", TESSERA_TRACE=folder + "/t")

    def test_a_limit_of_file_sizes(self):
        with tempfile.TemporaryDirectory() as folder:
            result = triangles(before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)), TESSERA_TRACE=folder + "/t")
            self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "triangles 45"), result.stderr)
            self.assertEqual(result.stderr, "tessera: cannot write the trace: File too large; it ends here\n")

    def test_no_gpu(self):
        self.says("no GPU", TESSERA_MODE="gpu", TESSERA_MIN_WORK="0", TESSERA_PLUGIN_DIR="/nonexistent")

    def test_wrong_settings(self):
        self.says("TESSERA_MODE=fast", TESSERA_MODE="fast")
        self.says("TESSERA_MOED", TESSERA_MOED="cpu")
        self.says("/nonexistent/file", TESSERA_CONFIG="/nonexistent/file")
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
            config.write("[tessera]\nmode = fast\n")
            config.flush()
            self.says("line 2", TESSERA_CONFIG=config.name)

    def test_graphs_that_are_none(self):
        """What the program says of them, with and without Tessera."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "graph.mtx"
            for text in ("", "hello\n", HEAD + "symmetric\n3 3 3\n2 1\n", HEAD + "general\n2 2 900000000000\n1 1\n",
                         HEAD + "general\n2 2 1\n3 1\n", HEAD + "general\n-1 2 1\n1 1\n", HEAD + "general\n99999999999999999999 2 1\n1 1\n"):
                path.write_text(text, encoding="ascii")
                through, plain = triangles(str(path)), triangles(str(path), LD_PRELOAD="")
                self.assertEqual((through.returncode, through.stderr), (plain.returncode, plain.stderr), text)
                self.assertEqual((through.returncode, through.stderr.count("\n")), (1, 1), text + through.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
