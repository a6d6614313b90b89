#!/usr/bin/env python3
"""Recipes of packages: every installed file is in one Debian package, every option that a recipe gives is one that there is, the Spack
recipe can be loaded.  Building them is not done here (docs/testing.md).

usage: test_packages.py BUILD     SPDX-License-Identifier: Apache-2.0"""
import fnmatch
import json
import pathlib
import re
import runpy
import subprocess
import sys
import types
import unittest

BUILD = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPES = [ROOT / name for name in ('debian/rules', 'packaging/Containerfile', 'packaging/conda/recipe.yaml', 'packaging/spack/packages/tessera/package.py',
                                    'tools/demo.sh', 'README.md')]


def introspect(what):
    return json.loads(subprocess.run(['meson', 'introspect', what, BUILD], capture_output=True, text=True, check=True).stdout)


def installed():
    """As Debian names them, without what debian/rules leaves out."""
    prefix = next(option['value'] for option in introspect('--buildoptions') if option['name'] == 'prefix')
    names = ('usr' + name[len(prefix):] for name in introspect('--installed').values())
    return [name for name in names if '/tessera/petsc/' not in name and not name.endswith('/LICENSE')]


class Debian(unittest.TestCase):
    def test_every_file_is_in_one_package(self):
        lists = {path.stem: [line.split()[0] for line in path.read_text(encoding='ascii').splitlines()] for path in (ROOT / 'debian').glob('*.install')}
        self.assertEqual(len(lists), 4)
        for name in installed():
            paths = [name, *(str(parent) for parent in pathlib.PurePath(name).parents)]
            # A star of debhelper does not match a slash.
            owners = [package for package, patterns in lists.items()
                      if any(fnmatch.fnmatch(path, pattern) and path.count('/') == pattern.count('/') for pattern in patterns for path in paths)]
            self.assertEqual(len(owners), 1, f'{name}: in {owners}')


class Recipes(unittest.TestCase):
    def test_options_are_there(self):
        options = {option['name']: option.get('choices') for option in introspect('--buildoptions')}
        for path in RECIPES:
            given = re.findall(r'-D([a-z_]+)=([a-z0-9,]*)', path.read_text(encoding='utf-8'))
            self.assertTrue(given, path)
            for name, values in given:
                self.assertIn(name, options, path)
                for value in values.split(',') if options[name] and values else ():
                    self.assertIn(value, options[name], f'{path}: {name}')

    def test_spack(self):
        """With directives that write down what they are given."""
        said = []
        package, build_system = types.ModuleType('spack.package'), types.ModuleType('spack_repo.builtin.build_systems.meson')
        for name in ('depends_on', 'license', 'variant', 'version'):
            setattr(package, name, lambda *words, name=name, **more: said.append((name, words[0])))
        build_system.MesonPackage = object
        names = ('spack', 'spack_repo', 'spack_repo.builtin', 'spack_repo.builtin.build_systems')
        sys.modules.update({name: types.ModuleType(name) for name in names} | {package.__name__: package, build_system.__name__: build_system})
        recipe = runpy.run_path(str(ROOT / 'packaging/spack/packages/tessera/package.py'))
        self.assertEqual(recipe['CLONE'], ROOT)
        self.assertIn(('depends_on', 'suite-sparse+graphblas'), said)

        class Spec(dict):
            satisfies = staticmethod(lambda wish: wish == '+cuda')
        built = recipe['Tessera']()
        built.spec = Spec({'suite-sparse': types.SimpleNamespace(prefix='/opt/suite-sparse')})
        self.assertIn('-Dcuda=enabled', built.meson_args())
        self.assertIn('-Dgraphblas_prefix=/opt/suite-sparse', built.meson_args())

    def test_container_has_what_the_demo_installs(self):
        wanted = re.search(r'^packages="([^"]*)"', (ROOT / 'tools/scripts/install_deps.sh').read_text(encoding='utf-8'), re.M)[1].split()
        text = (ROOT / 'packaging/Containerfile').read_text(encoding='utf-8')
        for name in set(wanted) - {'build-essential'}:
            self.assertIn(name, text.split())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
