#!/usr/bin/env python3
"""The tessera command: exit codes, one-line errors, what run hands to the program, what info and inspect print.

usage: test_tool.py TESSERA [LIBTESSERA]     (without the library, what needs preloading is left out)
SPDX-License-Identifier: Apache-2.0
"""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import xml.etree.ElementTree

TOOL = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "tessera"
LIBRARY = sys.argv[2] if len(sys.argv) > 2 else ""
TRIANGLE = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 1\n3 2\n"


def environment(**extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
    kept.pop("LD_PRELOAD", None)
    kept["HOME"] = "/nonexistent"
    kept.pop("XDG_CONFIG_HOME", None)
    return {**kept, **extra}


def tessera(*arguments, first=(), **extra):
    return subprocess.run([*first, TOOL, *arguments], env=environment(**extra), capture_output=True, text=True, timeout=60,
                          check=False)


def nobody():
    """What makes a command that of a user without rights: nothing, or a prefix; None: it cannot be."""
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    try:
        return prefix if tessera("--version", first=prefix).returncode == 0 else None
    except OSError:
        return None


NOBODY = nobody()


class InfoOfAProgram(unittest.TestCase):
    def said(self, *program, **extra):
        result = tessera("info", "--json", "--", *program, **extra)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_missing(self):
        result = tessera("info", "--", "no-such-program")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (127, "", "tessera: cannot find no-such-program\n"))

    def test_not_seen(self):
        facts = self.said("cat", "--no-such-option")
        self.assertTrue(os.path.basename(facts["program"]) in ("cat", "coreutils"), facts)
        self.assertIn("if it loads a GraphBLAS later", facts["products"])

    def test_not_reached(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "true")
            shutil.copy(shutil.which("true"), path)
            os.chmod(path, 0o4755)
            self.assertIn("set-user-ID", self.said(path)["products"])
            with open(path, "wb") as file:
                file.write(b"\x7fELF")
            self.assertIn("not a program", self.said(path)["products"])

    def test_python(self):
        for version, door, verdict in (("10.5.1", "libtessera-door10.so", "yes"), ("9.4.5", "libtessera-door9.so", "yes"), ("8.2.1", "none", "no door")):
            with tempfile.TemporaryDirectory() as folder:
                os.mkdir(os.path.join(folder, "suitesparse_graphblas"))
                os.mkdir(os.path.join(folder, "suitesparse_graphblas.libs"))
                library = os.path.join(folder, "suitesparse_graphblas.libs", "libgraphblas-abc123.so." + version)
                for path in (os.path.join(folder, "suitesparse_graphblas", "__init__.py"), library):
                    open(path, "w", encoding="utf-8").close()
                facts = self.said(sys.executable, "script.py", PYTHONPATH=folder)
                self.assertEqual((facts["program_graphblas"], os.path.basename(facts["door"])), (library, door))
                self.assertIn(verdict, facts["products"])
                off = self.said(sys.executable, PYTHONPATH=folder, TESSERA_MODE="off")["products"]
                self.assertIn("no: mode is off" if verdict == "yes" else verdict, off)


class Errors(unittest.TestCase):
    def one_line(self, result, code, *parts):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("tessera"), result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_command_line(self):
        for arguments, said in (((), "no command"), (("frobnicate",), "frobnicate"), (("--nonsense",), "--nonsense"), (("info", "--extra"), "--extra"),
                                (("inspect",), "no file"), (("inspect", "a", "b"), "one file"), (("inspect", "--plot"), "requires"),
                                (("bench",), "no file"), (("bench", "--op=", "a"), "--op"), (("explain", "--json=1", "a"), "--json"),
                                (("train", "--shrink=1x"), "1x"), (("run", "--nonsense=1", "true"), "--nonsense")):
            self.one_line(tessera(*arguments), 64, said)

    def test_run_without_a_program(self):
        self.one_line(tessera("run"), 64, "no program given")
        self.one_line(tessera("run", "--mode=cpu", "--"), 64, "no program given")

    def test_wrong_option_values(self):
        self.one_line(tessera("run", "--mode=fast", "true"), 64, "--mode=fast", "auto, cpu, gpu, off")
        self.one_line(tessera("run", "--min-work=lots", "true"), 64, "--min-work=lots")

    def test_wrong_variables(self):
        self.one_line(tessera("run", "true", TESSERA_MODE="fast"), 64, "TESSERA_MODE=fast", "auto, cpu, gpu, off")
        self.one_line(tessera("run", "true", TESSERA_MOED="cpu"), 64, "TESSERA_MOED", "unknown variable")
        self.one_line(tessera("run", "true", TESSERA_CONFIG="/nonexistent/file"), 64, "/nonexistent/file")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder) / "bad.mtx"
            self.one_line(tessera("inspect", str(bad)), 2, "No such file")
            self.one_line(tessera("inspect", folder), 2, "directory")
            bad.write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", encoding="ascii")
            self.one_line(tessera("inspect", str(bad)), 2, "ends after 1 of 2 entries")
            bad.write_text("%%MatrixMarket matrix coordinate real general\n2 2 900000000000\n1 1 1\n", encoding="ascii")
            self.one_line(tessera("inspect", str(bad)), 2, "more entries than")
            bad.write_bytes(gzip.compress(TRIANGLE.encode() * 100)[:-30])
            self.one_line(tessera("inspect", str(bad)), 2)
            bad.write_text("%%MatrixMarket matrix coordinate pattern general\n900000000000 1 1\n1 1\n", encoding="ascii")
            self.one_line(tessera("inspect", str(bad)), 2, "too large")

    def test_large_dimensions_of_one_entry(self):
        """Time and memory are those of entries."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "wide.mtx"
            path.write_text("%%MatrixMarket matrix coordinate real general\n67000000 67000000 1\n7 9 1\n", encoding="ascii")
            for command in ("inspect", "explain"):
                start = time.monotonic()
                result = tessera(command, str(path), first=["sh", "-c", 'ulimit -v 500000; exec "$@"', "sh"])
                self.assertEqual((result.returncode, result.stderr), (0, ""), command)
                self.assertLess(time.monotonic() - start, 20)

    @unittest.skipIf(NOBODY is None, "root may read everything, and nobody may run the command")
    def test_no_permission(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            closed = pathlib.Path(folder) / "closed.mtx"
            closed.write_text(TRIANGLE, encoding="ascii")
            os.chmod(closed, 0)
            for command in ("inspect", "bench", "explain"):
                self.one_line(tessera(command, str(closed), first=NOBODY), 2, "Permission denied")
            os.chmod(closed, 0o644)
            result = tessera("inspect", f"--plot={folder}/a.svg", str(closed), first=NOBODY) if NOBODY else None
            self.assertTrue(result is None or (result.returncode, result.stderr.count("\n")) == (73, 1), result)

    def test_a_full_disk_is_an_error(self):
        with tempfile.NamedTemporaryFile("w", suffix=".mtx") as matrix:
            matrix.write(TRIANGLE)
            matrix.flush()
            for arguments in (("info",), ("info", "--json"), ("inspect", matrix.name), ("bench", "--budget=0", "--n=2", matrix.name),
                              ("explain", matrix.name), ("--help",), ("bench", "--help"), ("--version",)):
                with open("/dev/full", "w", encoding="ascii") as full:
                    result = subprocess.run([TOOL, *arguments], env=environment(TESSERA_MODE="cpu"), stdout=full, stderr=subprocess.PIPE,
                                            text=True, timeout=60, check=False)
                self.assertEqual((result.returncode, result.stderr),
                                 (74, "tessera: cannot write the answer: No space left on device\n"), arguments)

    def test_explain(self):
        self.one_line(tessera("explain", "/nonexistent.mtx"), 2, "No such file")
        self.assertEqual(tessera("explain").returncode, 64)
        self.one_line(tessera("explain", "--precision=fp8", "a.mtx"), 64, "fp8")
        with tempfile.NamedTemporaryFile("w", suffix=".mtx") as matrix:
            matrix.write(TRIANGLE)
            matrix.flush()
            answer = json.loads(tessera("explain", "--json", "--n=7", "--precision=fp64", matrix.name).stdout)
            self.assertEqual((answer["n"], answer["precision"]), (7, "fp64"))

    def test_explain_hybrid(self):
        """Half of the rows in full blocks, half with two entries here and there: some windows are for Tensor Cores, others are not."""
        size = 4096
        dense = [(row, row // 64 * 64 + k) for row in range(size // 2) for k in range(64)]
        sparse = [(row, (row * 2654435761 + k * 40503) % size) for row in range(size // 2, size) for k in (1, 17)]
        entries = sorted(set(dense + sparse))
        with tempfile.NamedTemporaryFile("w", suffix=".mtx") as matrix:
            matrix.write(f"%%MatrixMarket matrix coordinate pattern general\n{size} {size} {len(entries)}\n")
            matrix.write("".join(f"{row + 1} {column + 1}\n" for row, column in entries))
            matrix.flush()
            mixed = json.loads(tessera("explain", "--json", "--n=128", "--precision=tf32", matrix.name).stdout)
            text = tessera("explain", "--n=128", "--precision=tf32", matrix.name).stdout
        self.assertLess(0, mixed["kernels"]["hybrid"])
        self.assertIn("hybrid", text)

    def test_train(self):
        with tempfile.TemporaryDirectory() as folder:
            model, samples = f"--output={folder}/model", f"--samples={folder}/samples"
            self.one_line(tessera("train", model, samples, TESSERA_PLUGIN_DIR="/nonexistent"), 69, "no GPU")
            self.one_line(tessera("train", model, samples, folder + "/none.mtx"), 2, "none.mtx: No such file")
            self.one_line(tessera("train", "--fit-only", model, samples), 2, "no samples")
            self.one_line(tessera("train", "--fit-only", f"--output={folder}/none/model", samples), 73, "No such file")
            self.assertEqual(os.listdir(folder), [])


class Pictures(unittest.TestCase):
    """What --plot does when all is well, and when it is not."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.matrix = self.path("m.mtx")
        pathlib.Path(self.matrix).write_text(TRIANGLE, encoding="ascii")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def plot(self, name, matrix=None, **extra):
        return tessera("inspect", f"--plot={name}", matrix or self.matrix, **extra)

    def fails(self, result, code, text):
        self.assertEqual((result.returncode, result.stderr.count("\n")), (code, 1), result.stderr)
        self.assertIn(text, result.stderr)

    def readable(self, path):
        """The picture as XML: a title, both themes, no text on another, every text inside."""
        root = xml.etree.ElementTree.parse(path).getroot()
        name = "{http://www.w3.org/2000/svg}"
        self.assertTrue(root.find(name + "title").text)
        self.assertNotIn("Gnuplot", root.find(name + "title").text)
        self.assertIn("prefers-color-scheme:dark", root.find(name + "style").text)
        width, height = float(root.get("width")), float(root.get("height"))
        boxes = []
        for text in root.iter(name + "text"):
            size = {"title": 16, "soft": 12}.get(text.get("class").split(" ")[0], 13)
            length, x, y = 0.62 * size * len(text.text or ""), float(text.get("x")), float(text.get("y"))
            left = x - length if "number" in text.get("class") else x
            boxes.append((left, y - size, left + length, y, text.text))
            self.assertTrue(0 <= left and left + length <= width and size <= y <= height, text.text)
        for k, a in enumerate(boxes):
            for b in boxes[:k]:
                self.assertFalse(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] - 1 and b[1] < a[3] - 1, f"{a[4]} | {b[4]}")
        return root

    def test_pictures(self):
        empty, wide = self.path("empty.mtx"), self.path("wide.mtx")
        pathlib.Path(empty).write_text("%%MatrixMarket matrix coordinate pattern general\n0 5 0\n", encoding="ascii")
        entries = sorted({(r * r % 997 % 3000 + 1, (r * 7919 + r * r) % 3000 + 1) for r in range(30000)})
        pathlib.Path(wide).write_text(f"%%MatrixMarket matrix coordinate pattern general\n3000 3000 {len(entries)}\n" +
                                      "".join(f"{r} {c}\n" for r, c in entries), encoding="ascii")
        for matrix in (self.matrix, empty, wide):
            result = self.plot(self.path("a.svg"), matrix)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            root = self.readable(self.path("a.svg"))
            self.assertNotIn(self.folder.name, "".join(root.itertext()))  # the name of the file, not its path

    def test_bench_pictures_have_numbers(self):
        result = tessera("bench", "--op=spmm,triangles", "--n=4", "--budget=0", f"--plot={self.path('b.svg')}", self.matrix, TESSERA_MODE="cpu")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        text = "".join(self.readable(self.path("b.svg")).itertext())
        self.assertRegex(text, r"GFLOP/s, [\d.e+-]+ ms")
        if "suitesparse" in result.stdout:
            self.assertRegex(text, r"\d\.\d\d×")

    @unittest.skipUnless(shutil.which("rsvg-convert"), "no rsvg-convert")
    def test_png(self):
        result = self.plot(self.path("a.png"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(pathlib.Path(self.path("a.png")).read_bytes().startswith(b"\x89PNG"))

    def test_a_picture_that_cannot_be_written(self):
        self.fails(self.plot(self.path("no/such/folder.svg")), 73, "No such file or directory")
        os.symlink("/dev/full", self.path("full.svg"))
        self.fails(self.plot(self.path("full.svg")), 73, "No space left on device")
        if os.getuid() != 0:
            os.mkdir(self.path("closed"), 0o500)
            self.fails(self.plot(self.path("closed/a.svg")), 73, "Permission denied")

    def test_without_the_converter(self):
        self.fails(self.plot(self.path("a.png"), PATH=self.folder.name), 69, "rsvg-convert")
        self.assertEqual(self.plot(self.path("a.svg"), PATH=self.folder.name).returncode, 0)

    def test_other_kinds_of_picture(self):
        self.assertEqual(self.plot("a.jpeg").returncode, 64)


class Bench(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.matrix = os.path.join(self.folder.name, "ring.mtx")
        entries = [f"{r + 1} {(r + d) % 60 + 1} {r * 0.25 + d}" for r in range(60) for d in (1, 2, 58, 59)]
        pathlib.Path(self.matrix).write_text("%%MatrixMarket matrix coordinate real general\n60 60 240\n" + "\n".join(entries) + "\n",
                                             encoding="ascii")

    def bench(self, *arguments):
        result = tessera("bench", "--json", "--budget=0", *arguments, self.matrix, TESSERA_MODE="cpu")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_every_product(self):
        answer = self.bench("--op=all", "--n=3,8", "--precision=exact,fp64", "--kernel=suitesparse,cpu")
        routes = {row["route"] for row in answer["results"]}
        self.assertEqual(routes, {"cpu", "suitesparse"} if answer["suitesparse"] else {"cpu"})
        self.assertEqual(len(answer["results"]), len(routes) * (2 * 2 + 2 + 2 * 2 + 1))
        for row in answer["results"]:
            self.assertLess(row["error"], 1e-14 if row["precision"] == "fp64" else 1e-6, row)
            self.assertGreater(row["ms"], 0)
            self.assertGreaterEqual(row["repeats"], 3)

    def test_the_peer_is_found(self):
        """In the folder of a build too."""
        facts = json.loads(tessera("info", "--json").stdout)
        if not LIBRARY or facts["graphblas_found"] in (None, "not found"):
            self.skipTest("no GraphBLAS here")
        self.assertTrue(self.bench("--n=2")["suitesparse"])

    def test_columns_stand_apart(self):
        text = tessera("bench", "--budget=0", "--n=2,64", self.matrix, TESSERA_MODE="cpu").stdout
        self.assertEqual(len(re.findall(r"(?m)^  route", text)), 2)
        for title in re.findall(r"(?m)^  route.*", text):
            self.assertEqual(re.split(r" {2,}", title.strip()), ["route", "median ms", "spread", "GFLOP/s", "once ms", "of bound", "error", "on device ms"])
        rows = re.findall(r"(?m)^  (?:suitesparse|cpu) .*", text)
        self.assertTrue(rows)
        for row in rows:
            self.assertGreaterEqual(len(row.split()), 8, row)

    def test_rounded_arithmetic_is_the_gpus(self):
        rows = self.bench("--precision=tf32", "--n=4", "--kernel=cpu")["results"]
        self.assertEqual([(row["ms"], row["note"]) for row in rows], [(None, "exact only")])

    def test_errors(self):
        for option, code, text in (("--n=0", 64, "--n"), ("--n=x", 64, "--n"), ("--op=spgemm", 64, "spgemm"), ("--budget=soon", 64, "soon"),
                                   ("--kernel=cuda", 64, "cuda"), ("--precision=fp8", 64, "fp8"), ("--plot=a.gif", 64, "a.gif")):
            result = tessera("bench", option, self.matrix)
            self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
            self.assertIn(text, result.stderr)
        self.assertEqual(tessera("bench").returncode, 64)
        self.assertEqual(tessera("bench", self.matrix + "x").returncode, 2)
        pathlib.Path(self.matrix).write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n", encoding="ascii")
        result = tessera("bench", "--op=triangles", self.matrix)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1))
        self.assertIn("symmetric", result.stderr)
        result = tessera("bench", "--op=all", "--n=2", "--budget=0", "--kernel=cpu", "--json", self.matrix)
        self.assertEqual((result.returncode, result.stderr.count("\n"), {row["op"] for row in json.loads(result.stdout)["results"]}),
                         (0, 1, {"spmm", "spmv", "sddmm"}))

    def test_a_picture_that_cannot_be_made_is_said_before_measuring(self):
        wanted = [("/nonexistent/a.svg", {}, 73)]
        for path, extra, code in (*wanted, (f"{self.folder.name}/a.png", {"PATH": self.folder.name}, 69)):
            began = time.monotonic()
            result = tessera("bench", "--budget=30000", "--n=2", "--kernel=cpu", f"--plot={path}", self.matrix, **extra)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (code, "", 1), result.stderr)
            self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(os.listdir(self.folder.name), ["ring.mtx"])

    def test_nothing_to_measure_with(self):
        result = tessera("bench", "--kernel=gpu,cusparse", self.matrix, TESSERA_PLUGIN_DIR="/nonexistent")
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (69, "", 1), result.stderr)



class Completion(unittest.TestCase):
    """The bash completion, driven as bash drives it."""

    def complete(self, *words):
        script = pathlib.Path(__file__).parents[2] / "tools" / "tessera" / "tessera.bash"
        line = f"compopt() {{ :; }}; . {script}; COMP_WORDS=({TOOL} \"$@\"); COMP_CWORD=$#; _tessera; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-c", line, "bash", *words], env=environment(), capture_output=True, text=True, timeout=60,
                              check=True).stdout.split()

    def test_commands_and_options(self):
        self.assertEqual(self.complete("in"), ["info", "inspect"])
        self.assertIn("--plot=", self.complete("inspect", "--p"))
        self.assertEqual(self.complete("run", "--prec"), ["--precision="])
        self.assertIn("--replace", self.complete("run", "--"))

    def test_values(self):
        self.assertEqual(self.complete("run", "--mode", "="), ["auto", "cpu", "gpu", "off"])
        self.assertEqual(self.complete("run", "--mode", "=", "c"), ["cpu"])
        self.assertIn("mxm,sddmm", self.complete("run", "--disable", "=", "mxm,s"))
        self.assertEqual(self.complete("bench", "--op", "=", "sp"), ["spmm", "spmv"])
        self.assertIn("gpu:panel", self.complete("bench", "--kernel", "=", "gpu:p"))
        self.assertEqual(self.complete("run", "--device", "="), [])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.svg", "b.mtx.gz"):
                pathlib.Path(folder, name).touch()
            self.assertEqual(self.complete("inspect", "--plot", "=", folder + "/a"), [folder + "/a.svg"])
            self.assertEqual(self.complete("inspect", folder + "/"), [folder + "/b.mtx.gz"])


class Manual(unittest.TestCase):
    def test_every_command_and_option_is_in_the_manual(self):
        page = (pathlib.Path(__file__).parents[2] / "docs" / "man" / "tessera.1").read_text(encoding="utf-8").replace("\\-", "-")
        commands = re.findall(r"^  ([a-z]+) ", tessera("--help").stdout.split("Commands:")[1].split("Options:")[0], re.M)
        self.assertGreaterEqual(len(commands), 4)
        for command in commands:
            self.assertIn(f"\n.SS {command}\n", page)
            options = [] if command == "run" else re.findall(r"--[a-z-]*[a-z]", tessera(command, "--help").stdout)
            for option in set(options) - {"--help", "--usage", "--version"}:
                self.assertIn(option, page, command)


@unittest.skipUnless(LIBRARY, "no library to preload")
class Run(unittest.TestCase):
    def run_shell(self, script, *options, **extra):
        return tessera("run", *options, "--", "sh", "-c", script, **extra)

    def test_missing_and_not_executable(self):
        result = tessera("run", "--", "no-such-program-anywhere")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (127, 1), result.stderr)
        self.assertIn("cannot run no-such-program-anywhere", result.stderr)
        result = tessera("run", "/etc/passwd")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (126, 1), result.stderr)
        self.assertEqual(tessera("run", "/").returncode, 126)

    def test_file_that_is_no_command(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, mode, said in (("s.py", 0o644, "; try: python3 s.py"), ("prog", 0o755, "; try: ./prog"), ("data", 0o644, "")):
                path = os.path.join(folder, name)
                pathlib.Path(path).touch(mode)
                ran, asked = (tessera(*command, name, first=("env", "-C", folder)) for command in (("run",), ("info", "--")))
                self.assertEqual((ran.returncode, ran.stderr), (127, f"tessera: cannot run {name}: No such file or directory{said}\n"))
                self.assertEqual((asked.returncode, asked.stderr), (127, f"tessera: cannot find a program {name}{said}\n"))

    def test_exit_code_and_streams_are_the_programs(self):
        result = self.run_shell("cat; echo out; echo err >&2; exit 37")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (37, "out\n", "err\n"))

    def test_options_become_variables(self):
        show = "env | grep ^TESSERA_ | sort"
        result = self.run_shell(show, "--mode=cpu", "--min-work=12", "--trace=t.%p", TESSERA_DEVICE="3")
        self.assertEqual(result.stdout.split(), ["TESSERA_DEVICE=3", "TESSERA_MIN_WORK=12", "TESSERA_MODE=cpu",
                                                 "TESSERA_TRACE=t.%p"])
        result = self.run_shell("echo $TESSERA_MODE", "--mode=cpu", TESSERA_MODE="off")
        self.assertEqual(result.stdout, "cpu\n")

    def test_options_after_the_program_are_its_own(self):
        result = tessera("run", "echo", "--mode=cpu", "--", "-x")
        self.assertEqual((result.returncode, result.stdout), (0, "--mode=cpu -- -x\n"))

    def test_the_library_is_preloaded(self):
        self.assertEqual(self.run_shell("grep -c libtessera.so /proc/self/maps >/dev/null && echo yes").stdout, "yes\n")

    def test_an_earlier_preload_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "libother.so")
            shutil.copy(os.path.realpath(LIBRARY), other)
            result = self.run_shell("echo $LD_PRELOAD", LD_PRELOAD=other)
        self.assertTrue(result.stdout.startswith("/"), result.stdout)
        self.assertTrue(result.stdout.strip().endswith(":" + other), result.stdout)

    def test_replacement(self):
        if json.loads(tessera("info", "--json").stdout)["replacement"] == "not found":
            self.skipTest("no replacement library was built")
        result = self.run_shell("echo $LD_LIBRARY_PATH; echo $LD_PRELOAD", "--replace", LD_LIBRARY_PATH="/before")
        path, preload = result.stdout.split("\n")[:2]
        self.assertNotIn("libtessera.so", preload)
        folder, before = path.split(":")
        self.assertEqual(before, "/before")
        self.assertTrue(any(name.startswith("libgraphblas.so") for name in os.listdir(folder)))

    def test_a_replacement_that_does_nothing_says_so(self):
        if json.loads(tessera("info", "--json").stdout)["replacement"] == "not found":
            self.skipTest("no replacement library was built")
        result = tessera("run", "--replace", "--", sys.executable, "-c", "print('here')")
        self.assertEqual((result.returncode, result.stdout), (0, "here\n"))
        self.assertRegex(result.stderr, r"^tessera: --replace changed nothing: python\S* loaded no libgraphblas\n$")
        load = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
        found = json.loads(tessera("info", "--json").stdout)["graphblas_found"]
        result = tessera("run", "--replace", "--", sys.executable, "-c", load, found)  # by its path, not by its name
        self.assertIn(f"loaded {found}", result.stderr)
        result = tessera("run", "--replace", "--", sys.executable, "-c", load, os.path.basename(os.path.realpath(found))[:len("libgraphblas.so.7")])
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.run_shell("true; /bin/true", "--replace").stderr.count("\n"), 1)  # the shell says it, not what it starts


class Answers(unittest.TestCase):
    def test_info(self):
        text = tessera("info", TESSERA_MODE="cpu").stdout
        self.assertRegex(text, r"(?m)^Tessera +\d+\.\d+\.\d+$")
        self.assertRegex(text, r"(?m)^  mode +cpu +\(environment\)$")
        self.assertRegex(text, r"(?m)^  verbose +0 +\(default\)$")
        library = tessera("info", "--library").stdout.strip()
        self.assertEqual(library, json.loads(tessera("info", "--json").stdout)["library"])
        answer = json.loads(tessera("info", "--json", TESSERA_KERNEL="csr").stdout)
        self.assertEqual(answer["configuration"]["kernel"], {"value": "csr", "layer": "environment"})
        self.assertIn("cpu", answer["backends"])
        self.assertGreaterEqual(int(answer["threads"]), 1)

    def test_kernels(self):
        rows = [line.split()[:4] for line in tessera("info", "--kernels").stdout.splitlines()]
        self.assertIn(["cpu", "spmm", "spmm_csr", "spmm_csr"], rows)
        self.assertEqual(len({(row[0], row[1], row[2]) for row in rows}), len(rows))
        if any(row[0] == "cuda" for row in rows):
            self.assertIn(["cuda", "sddmm", "stencil", "sddmm-stencil"], rows)

    def test_info_with_a_wrong_variable_still_answers(self):
        result = tessera("info", TESSERA_MODE="fast")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (0, 1))
        self.assertIn("auto", result.stdout)

    def test_inspect(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'a "b".mtx.gz')
            with gzip.open(path, "wt", encoding="ascii") as file:
                file.write(TRIANGLE)
            answer = json.loads(tessera("inspect", "--json", path).stdout)
            text = tessera("inspect", path).stdout
        self.assertEqual(answer["file"], path)
        self.assertEqual((answer["nrows"], answer["ncols"], answer["nvals"]), (3, 3, 6))
        self.assertEqual((answer["symmetry"], answer["pattern_symmetric"]), ("symmetric", True))
        self.assertEqual([window["nonzero_vectors"] for window in answer["windows"]], [3, 3, 3, 3])
        self.assertEqual((answer["tc_blocks"], answer["mean_nnz_tc"], answer["empty_rows"]), (1, 6, 0))
        self.assertIn("MeanNnzTC 6.00", text)
        self.assertLess(text.index("times as fast as SuiteSparse"), text.index("row window"))  # what a user wants first
        self.assertFalse("no GPU" in text and "H200" in text)
        self.assertEqual(answer["window_routes"], {"height": 8, "empty": 0, "cuda_cores": 1, "tensor_cores": 0})
        self.assertEqual([(row["order"], row["nnz_per_vector"]) for row in answer["orders"]],
                         [(name, [2, 2, 2, 2]) for name in ("lpa", "tca", "loa")])
        self.assertEqual((answer["synergy"], answer["bytes"]["csr"]), ("low", 8 * 4 + 8 * 6))
        self.assertEqual([list(row) for row in answer["predicted_ms"]], [["n", "suitesparse", "cpu", "gpu"]] * 2)

    def test_few_entries_of_a_large_matrix(self):
        """What they cost follows the entries."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "one.mtx")
            path.write_text("%%MatrixMarket matrix coordinate pattern general\n67000000 67000000 1\n5 7\n", encoding="ascii")
            for command in ("inspect", "explain"):
                with subprocess.Popen([TOOL, command, "--json", str(path)], env=environment(), stdout=subprocess.PIPE) as process:
                    limit = threading.Timer(50, process.kill)
                    limit.start()
                    answer = process.stdout.read()
                    _, status, used = os.wait4(process.pid, 0)
                    limit.cancel()
                    process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                self.assertLess(used.ru_utime + used.ru_stime, 2)
                self.assertLess(used.ru_maxrss, 200 * 1024)
                answers = json.loads(answer)
                if command == "inspect":
                    self.assertEqual(answers["window_routes"], {"height": 8, "empty": 8374999, "cuda_cores": 1, "tensor_cores": 0})
                    self.assertEqual((answers["empty_rows"], answers["bytes"]["csr"]), (66999999, 8 * 67000001 + 8))
                    self.assertEqual([window["nonzero_vectors"] for window in answers["windows"]], [1, 1, 1, 1])
                else:
                    self.assertEqual((answers["without_gpu"], answers["dense_windows"]), ("SuiteSparse", 0))

    def test_train(self):
        """The model of made-up measurements: one kernel is always twice as fast."""
        with tempfile.TemporaryDirectory() as folder:
            rows = [["graph", f"g{k}", 0, kernel, "exact", 128, 1000 * k, 1000 * k, 9000 * k, 8000 * k, 7000 * k, 6000 * k, 5000 * k, 4000 * k,
                     9, *[1] * 11, ms * k, 0.1] for k in range(1, 30) for kernel, ms in (("csr", 0.2), ("panel-32", 0.1))]
            samples = pathlib.Path(folder, "samples")
            samples.write_text("# tessera-samples 2 90 A GPU\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="ascii")
            arguments = ("train", "--fit-only", f"--samples={samples}", f"--output={folder}/model")
            answer, text = json.loads(tessera(*arguments, "--json").stdout), tessera(*arguments).stdout
            model = tessera("info", "--json", TESSERA_MODEL=folder + "/model")
        self.assertEqual((answer["device"], answer["samples"], answer["measured"]), ("A GPU", len(rows), 0))
        self.assertEqual([(row["precision"], row["real"], row["windows"], row["products"]["cases"]) for row in answer["accuracy"]],
                         [("exact", False, {"cases": 0}, 29)])
        self.assertGreater(answer["accuracy"][0]["products"]["right"], 0.9)
        self.assertIn("products   29", text)
        self.assertEqual((model.returncode, model.stderr), (0, ""))

    def test_help_and_version(self):
        for arguments in (("--help",), ("run", "--help"), ("info", "--help"), ("inspect", "--help"), ("bench", "--help"), ("explain", "--help"),
                          ("train", "--help"), ("--version",)):
            result = tessera(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertTrue(result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
