#!/usr/bin/env python3
"""A program's memory is its own: what it frees is not kept from it, and its allocator may be another.

usage: test_memory.py MEMORY OWN_MALLOC LIBTESSERA [unittest arguments]
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import sys
import unittest

MEMORY, OWN_MALLOC, LIBRARY = sys.argv[1:4]
THROUGH = [{"LD_PRELOAD": LIBRARY}, {"LD_PRELOAD": LIBRARY, "TESSERA_MODE": "cpu", "TESSERA_MIN_WORK": "0"}]

HUGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
HUGE_PAGES = HUGE_PAGES.read_text(encoding="ascii") if HUGE_PAGES.exists() else "[never]"
FENCE = next((path for path in ("/usr/lib/libefence.so.0", "/usr/lib/x86_64-linux-gnu/libefence.so.0") if os.path.exists(path)), None)


def run(*command, **extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TESSERA_", "LD_PRELOAD"))}
    result = subprocess.run(command, env={**kept, "HOME": "/nonexistent", **extra}, capture_output=True, text=True, timeout=100, check=False)
    return result.returncode, result.stdout, result.stderr


def number(case, name, **extra):
    code, out, err = run(MEMORY, case, **extra)
    if code != 0 or not out.startswith(name + " "):
        raise AssertionError((case, extra, code, out, err))
    return int(out.split()[1])


class Memory(unittest.TestCase):
    def test_own_malloc(self):
        plain = run(OWN_MALLOC)
        self.assertEqual(plain[0], 0, plain)
        for settings in THROUGH:
            self.assertEqual(run(OWN_MALLOC, **settings), plain)

    @unittest.skipUnless(FENCE, "Electric Fence is not installed")
    def test_electric_fence(self):
        for settings in THROUGH:
            for order in (LIBRARY + ":" + FENCE, FENCE + ":" + LIBRARY):
                preloaded = {**settings, "LD_PRELOAD": order, "OMP_NUM_THREADS": "1"}
                self.assertEqual(number("few", "sum", **preloaded), number("few", "sum"))

    def test_what_is_freed_goes_back(self):
        for case in ("no_products", "many_results", "many_matrices"):
            plain = number(case, "rss")
            for settings in THROUGH:
                self.assertLess(number(case, "rss", **settings), plain * 1.1 + 24, case)  # some of it the C library keeps

    def test_limited_addresses(self):
        for settings in THROUGH:
            self.assertEqual(number("limited", "own", **settings), 1)

    @unittest.skipIf(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 3 << 30, "less than 3 GB of memory are free")
    def test_limited_addresses_at_full_size(self):
        for settings in [{}] + THROUGH:
            self.assertEqual(number("limited_whole", "own", **settings), 1, settings)

    def test_results_are_recycled(self):
        plain = number("loop", "faults")
        for settings in THROUGH:
            self.assertLess(number("loop", "faults", **settings), plain / 4)

    def test_the_heap_is_used_again(self):
        plain = number("halves", "faults", OMP_NUM_THREADS="1")
        self.assertLess(number("halves", "faults", OMP_NUM_THREADS="1", **THROUGH[0]), plain * 1.1 + 200)

    @unittest.skipIf("[never]" in HUGE_PAGES, "the kernel has no huge pages")
    def test_huge_pages_are_for_what_is_used_again(self):
        for settings in THROUGH:
            code, out, err = run(MEMORY, "used_again", **settings)
            self.assertEqual(code, 0, err)
            early, late = (int(word) for word in out.split()[1::2])
            if "[always]" not in HUGE_PAGES:
                self.assertLess(early, 16)
            self.assertGreater(late, 40)

    def check_collapsed(self, case, settings):
        code, out, err = run(MEMORY, case, **settings)
        self.assertEqual(code, 0, err)
        early, late, can = (int(word) for word in out.split()[1::2])
        if not can:
            self.skipTest("the kernel cannot collapse pages")
        self.assertLess(early, 4)
        (self.assertGreaterEqual if settings else self.assertLess)(late, 4)

    @unittest.skipIf("[always]" in HUGE_PAGES, "all large arrays lie in huge pages")
    def test_huge_pages_for_operands_that_are_gathered(self):
        for settings in [{}] + THROUGH:
            self.check_collapsed("gathered", settings)

    @unittest.skipIf("[always]" in HUGE_PAGES, "all large arrays lie in huge pages")
    def test_huge_pages_for_results_in_the_heap_that_are_used_again(self):
        for settings in [{}, THROUGH[1]]:
            self.check_collapsed("heap_used_again", settings)

    def test_huge_pages_are_for_products(self):
        plain = number("short_lives", "huge")
        for settings in THROUGH:
            self.assertLess(number("short_lives", "huge", **settings), plain * 1.1 + 16)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
