"""Spack package of the clone that it lies in.      SPDX-License-Identifier: Apache-2.0"""
import pathlib

from spack.package import *
from spack_repo.builtin.build_systems.meson import MesonPackage

CLONE = pathlib.Path(__file__).resolve().parents[4]


class Tessera(MesonPackage):
    """Makes programs written for SuiteSparse:GraphBLAS faster without changing them."""

    git = CLONE.as_uri()
    license("Apache-2.0", checked_by="Tessera maintainers")

    version("main", branch="main")

    variant("cuda", default=False, description="Kernels for NVIDIA GPUs")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("meson@1:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("suite-sparse+graphblas")
    depends_on("libinih")
    depends_on("zlib-api")
    depends_on("cuda@12:", type=("build", "link"), when="+cuda")

    def meson_args(self):
        return [
            "-Dtests=false",
            "-Ddebug=false",
            "-Dpetsc=disabled",
            "-Dgraphblas_prefix=" + self.spec["suite-sparse"].prefix,
            "-Dcuda=" + ("enabled" if self.spec.satisfies("+cuda") else "disabled"),
        ]
