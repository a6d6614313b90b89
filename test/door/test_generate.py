"""The wrapper generator: what it finds, how it classifies, and that it refuses what it cannot classify.

usage: test_generate.py HEADER.i VERSION (of the installed library, "7.4.0")
SPDX-License-Identifier: Apache-2.0
"""

import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
GRAPHBLAS = os.path.join(HERE, '..', '..', 'src', 'graphblas')
DECLARATIONS = os.path.join(GRAPHBLAS, 'declarations')
sys.path.insert(0, os.path.join(GRAPHBLAS, 'intercept', 'generate'))
sys.dont_write_bytecode = True

import classify  # noqa: E402
import declarations  # noqa: E402
import emit  # noqa: E402
import prototypes  # noqa: E402

MXM = 'extern GrB_Info GrB_mxm (GrB_Matrix C, const GrB_Matrix M, const GrB_Matrix A);\n'
HEADER, VERSION = None, None


def only(declaration):
    """The one prototype of a made-up header beside GrB_mxm."""
    found = prototypes.parse_header(MXM + declaration)
    del found['GrB_mxm']
    assert len(found) == 1, sorted(found)
    return next(iter(found.values()))


def roles(declaration):
    return [(number, role) for number, role, _ in classify.classify(only(declaration))]


class Parser(unittest.TestCase):
    def test_iterator_attach_without_extern(self):
        text = 'GrB_Info GB_Iterator_attach\n(\n GxB_Iterator iterator, GrB_Matrix A, GrB_Descriptor desc\n) ;'
        self.assertEqual(only(text).name, 'GB_Iterator_attach')
        self.assertEqual(roles(text), [(1, 'move')])

    def test_declarations_around_it(self):
        text = '''
# 12 "GraphBLAS.h"
struct GB_Iterator_opaque { int64_t p ; } ;
typedef struct GB_Iterator_opaque *GxB_Iterator ;
typedef void (*GxB_unary_function) (void *, const void *) ;
extern GrB_Type GrB_BOOL ;
static inline int helper (GrB_Matrix A) { return GrB_hidden (A) ; }
GrB_Info GrB_Matrix_nvals (GrB_Index *nvals, const GrB_Matrix A) __attribute__ ((nonnull (1))) ;
'''
        self.assertEqual(only(text).name, 'GrB_Matrix_nvals')

    def test_unnamed_parameters(self):
        p = only('GrB_Info GrB_Matrix_get_Scalar (GrB_Matrix, GrB_Scalar, GrB_Field);')
        self.assertEqual([q.base for q in p.parameters], ['GrB_Matrix', 'GrB_Scalar', 'GrB_Field'])
        self.assertEqual([q.name for q in p.parameters], ['', '', ''])

    def test_pointers_arrays_callbacks(self):
        p = only('GrB_Info GxB_f (const char *const name, unsigned int *n, GrB_Index I [ ], '
                 'void * (* user_malloc) (size_t), const GrB_Index **restrict P, unsigned x);')
        self.assertEqual([q.stars for q in p.parameters], [1, 1, 1, 0, 2, 0])
        self.assertEqual(p.parameters[3].declare('a3'), 'void * (*a3)(size_t)')
        self.assertEqual(p.parameters[1].base, 'unsigned int')

    def test_varargs_and_void(self):
        self.assertTrue(only('GrB_Info GxB_Desc_set (GrB_Descriptor desc, GrB_Desc_Field field, ...);').varargs)
        self.assertEqual(only('GrB_Info GrB_finalize (void);').parameters, [])

    def test_not_a_graphblas_header(self):
        with self.assertRaises(prototypes.HeaderError):
            prototypes.parse_header('int main (void);')


class Classes(unittest.TestCase):
    def check(self, declaration, expected):
        self.assertEqual(roles(declaration), expected, declaration)

    def test_constness(self):
        self.check('GrB_Info GrB_f (GrB_Matrix C, const GrB_Matrix A, const GrB_Vector v, const GrB_Scalar s);',
                   [(0, 'write'), (1, 'read'), (2, 'read'), (3, 'read')])

    def test_kept_contents(self):
        self.check('GrB_Info GxB_Matrix_Option_get (GrB_Matrix A, GxB_Option_Field f, ...);', [(0, 'read')])
        self.check('GrB_Info GxB_Scalar_wait (GrB_Scalar *s);', [(0, 'move-at')])
        self.check('GrB_Info GrB_Matrix_wait (GrB_Matrix A, GrB_WaitMode m);', [(0, 'move')])
        self.check('GrB_Info GxB_Matrix_Option_set (GrB_Matrix A, GxB_Option_Field f, ...);', [(0, 'move')])
        self.check('GrB_Info GrB_Matrix_set_INT32 (GrB_Matrix, int32_t, GrB_Field);', [(0, 'move')])
        self.check('GrB_Info GrB_Matrix_export_FP32 (GrB_Index *Ap, float *Ax, GrB_Matrix A);', [(2, 'move')])
        self.check('GrB_Info GxB_Vector_Iterator_attach (GxB_Iterator it, GrB_Vector v);', [(1, 'move')])

    def test_asked_value_is_written(self):
        self.check('GrB_Info GrB_Matrix_get_Scalar (GrB_Matrix, GrB_Scalar, GrB_Field);', [(0, 'read'), (1, 'write')])

    def test_created_freed_moved(self):
        self.check('GrB_Info GrB_Matrix_new (GrB_Matrix *A, GrB_Type t, GrB_Index n, GrB_Index m);', [(0, 'new')])
        self.check('GrB_Info GrB_Vector_dup (GrB_Vector *w, const GrB_Vector u);', [(0, 'new'), (1, 'read')])
        self.check('GrB_Info GrB_Matrix_free (GrB_Matrix *A);', [(0, 'free')])
        self.check('GrB_Info GxB_Vector_export_Full (GrB_Vector *v, void **vx);', [(0, 'export')])
        self.check('GrB_Info GxB_Matrix_pack_FullR (GrB_Matrix A, void **Ax);', [(0, 'write')])
        self.check('GrB_Info GxB_Matrix_unpack_FullR (GrB_Matrix A, void **Ax);', [(0, 'write')])
        self.check('GrB_Info GxB_unpack_HyperHash (GrB_Matrix A, GrB_Matrix *Y);', [(0, 'write'), (1, 'new')])
        self.check('GrB_Info GxB_pack_HyperHash (GrB_Matrix A, GrB_Matrix *Y);', [(0, 'write'), (1, 'export')])

    def test_tiles(self):
        self.check('GrB_Info GxB_Matrix_concat (GrB_Matrix C, const GrB_Matrix *Tiles, GrB_Index m, GrB_Index n);',
                   [(0, 'write'), (1, 'read-array')])
        self.check('GrB_Info GxB_Matrix_split (GrB_Matrix *Tiles, GrB_Index m, GrB_Index n, const GrB_Matrix A);',
                   [(0, 'new-array'), (3, 'read')])

    def test_containers(self):
        self.check('GrB_Info GxB_load_Matrix_from_Container (GrB_Matrix A, GxB_Container c, const GrB_Descriptor d);',
                   [(0, 'write'), (1, 'container')])
        self.check('GrB_Info GxB_Container_new (GxB_Container *c);', [(0, 'new-container')])
        self.check('GrB_Info GxB_Container_free (GxB_Container *c);', [(0, 'free-container')])
        with self.assertRaises(classify.Unclassified):
            roles('GrB_Info GxB_made_up (GxB_Container c);')

    def test_refused(self):
        for parameters in ('GrB_Matrix *A', 'GrB_Matrix **A', 'const GrB_Matrix *A', 'GrB_Vector A[4]', 'void *A',
                           'const void *A', 'void **A', 'GxB_Bundle b', 'struct GxB_Bundle *b', 'GB_Thing t',
                           'void (*f)(GrB_Matrix)', 'GrB_Matrix (*f)(void)'):
            with self.assertRaises(classify.Unclassified, msg=parameters):
                roles('GrB_Info GxB_made_up (%s);' % parameters)


class Leaving(unittest.TestCase):
    def test_arrays_that_leave(self):
        for text, numbers in (('GxB_Matrix_unpack_BitmapR (GrB_Matrix A, int8_t **Ab, void **Ax, GrB_Index *n);', [1, 2]),
                              ('GxB_Matrix_serialize (void **blob, GrB_Index *n, GrB_Matrix A);', [0]),
                              ('GrB_Matrix_export_FP32 (GrB_Index *Ap, float *Ax, GrB_Matrix A);', []),
                              ('GxB_Container_free (GxB_Container **c);', []),
                              ('GrB_Global_error (const char **error);', [])):
            self.assertEqual(classify.handed_out(only('GrB_Info ' + text)), numbers, text)

    def test_allocator(self):
        self.assertEqual(classify.tells_allocator(only('GrB_Info GrB_Global_get_VOID (GrB_Global, void *, int);')), [1])


    def test_what_is_remembered_ends(self):
        for text, number in (('GrB_Semiring_free (GrB_Semiring *semiring);', 0),
                             ('GrB_Descriptor_free (GrB_Descriptor *d);', 0),
                             ('GxB_Desc_set (GrB_Descriptor desc, GrB_Desc_Field field, ...);', 0),
                             ('GxB_Desc_set_INT32 (GrB_Descriptor desc, GrB_Desc_Field field, int32_t value);', 0),
                             ('GxB_Desc_get (GrB_Descriptor desc, GrB_Desc_Field field, ...);', None),
                             ('GxB_Vector_Option_set (GrB_Vector v, GxB_Option_Field field, ...);', None),
                             ('GrB_Matrix_free (GrB_Matrix *A);', None)):
            self.assertEqual(classify.outdates(only('GrB_Info ' + text)), number, text)


def classified(text):
    """As make_declarations.py does it: prototypes with their roles."""
    found = prototypes.parse_header(text)
    for prototype in found.values():
        prototype.roles = classify.classify(prototype)
    return found


class Generator(unittest.TestCase):
    def test_handle_without_info_stops(self):
        with self.assertRaises(classify.Unclassified):
            emit.wrappers(classified(MXM + 'GrB_Index GxB_made_up (const GrB_Matrix A);'))

    def test_write_hook_stands_first(self):
        text = emit.wrappers(classified(MXM + 'GrB_Info GrB_g (const GrB_Matrix A, GrB_Matrix C);'))
        body = text[text.index('GrB_Info whole_GrB_g('):]
        self.assertLess(body.index('TSR_HOOK_WRITE(a1)'), body.index('TSR_HOOK_READ(a0)'))

    def test_data_says_the_same_as_the_header(self):
        found = classified(MXM + 'GrB_Info GxB_f (const GrB_Matrix *Tiles, void *(*f)(size_t, int), const char **t, ...);'.replace(
            'GxB_f', 'GxB_Matrix_concat') + 'void GxB_atfork_child (void);')
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'functions.txt')
            declarations.write_functions(path, found, 'made up')
            self.assertEqual(declarations.read_functions(path), found)


class Installed(unittest.TestCase):
    """The declarations of the installed version agree with its header."""

    def test_functions(self):
        with open(HEADER, encoding='utf-8', errors='replace') as source:
            found = classified(source.read())
        types, kept = declarations.read(os.path.join(DECLARATIONS, VERSION.split('.', maxsplit=1)[0]))
        if VERSION != '%d.%d.%d' % types.version:
            self.skipTest('the declarations are of another minor version')
        self.assertEqual(sorted(kept), sorted(found))
        for name, prototype in found.items():
            # bool is a macro in some headers
            self.assertEqual(repr(kept[name]).replace('_Bool', 'bool'), repr(prototype).replace('_Bool', 'bool'), name)


class Kept:
    """Each folder of declarations."""
    major, fewest = None, 746

    @classmethod
    def setUpClass(cls):
        cls.types, cls.found = declarations.read(os.path.join(DECLARATIONS, cls.major))

    def test_count(self):
        self.assertGreaterEqual(len(self.found), self.fewest)
        self.assertIn('GB_Iterator_attach', self.found)
        self.assertEqual(str(self.types.version[0]), self.major)

    def test_varargs(self):
        names = {p.name for p in self.found.values() if p.varargs}
        for name in ('GxB_Desc', 'GxB_Matrix_Option', 'GxB_Vector_Option', 'GxB_Global_Option'):
            self.assertGreaterEqual(names, {name + '_set', name + '_get'})

    def test_every_handle_has_a_role(self):
        for p in self.found.values():
            self.assertEqual(p.roles, classify.classify(p), p.name)
            handles = {n for n, q in enumerate(p.parameters) if q.base in classify.HANDLES | {'GxB_Container'}}
            self.assertEqual({number for number, _, _ in p.roles}, handles, p.name)

    def test_what_leaves_is_forgotten(self):
        names = {name for name, p in self.found.items() if classify.handed_out(p)}
        for name in ('GxB_Matrix_unpack_FullR', 'GxB_Vector_export_Full', 'GxB_Matrix_serialize', 'GxB_Vector_serialize'):
            self.assertIn(name, names)
        text = emit.wrappers(self.found)
        for name in names:
            body = text[text.index('WRAPPER GrB_Info %s(' % name):]
            self.assertIn('tsr_pins_forget', body[:body.index('\n}\n')], name)

    def test_wrappers_forget(self):
        text = emit.wrappers(self.found)
        names = [name for name, p in self.found.items() if classify.outdates(p) is not None]
        for name in names:
            body = text[text.index('WRAPPER GrB_Info %s(' % name):]
            self.assertLess(body.index('tsr_memo_forget'), body.index('tsr_real.' + name + '('), name)
        self.assertGreaterEqual(set(names), {'GrB_Semiring_free', 'GrB_Descriptor_free', 'GrB_Descriptor_set', 'GxB_Desc_set',
                                             'GxB_Desc_set_INT32', 'GxB_Desc_set_FP64'})

    def test_every_function_has_a_wrapper(self):
        text = emit.wrappers(self.found)
        for name in self.found:
            self.assertIn(' %s(' % name, text)


class Kept7(Kept, unittest.TestCase):
    major = '7'


class Kept9(Kept, unittest.TestCase):
    major, fewest = '9', 884


class Kept10(Kept, unittest.TestCase):
    major, fewest = '10', 975


if __name__ == '__main__':
    HEADER, VERSION = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=1)
