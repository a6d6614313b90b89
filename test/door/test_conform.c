/* Arrays of a result become an object in the form that SuiteSparse gives them: every control, some switches, every form that they may have been
 * computed in, compared with what SuiteSparse makes of the same arrays when the same is set.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/graphblas/handover/finish.h"
#include "src/graphblas/intercept/options.h"
#include "src/graphblas/match/match.h"

enum { MOST = 400 };

/* What is made into an object, by column. */
typedef struct contents {
    int64_t vlen, nvec, entries;
    int32_t form;
    bool iso, jumbled;
    int8_t b[MOST];
} contents;

static uint64_t random_state = 7;

static int64_t below(int64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(random_state >> 33) % n;
}

/* Entries in some of the vectors only. */
static void draw(contents *c, int64_t entries, int64_t vectors)
{
    memset(c->b, 0, sizeof c->b);
    c->entries = 0;
    while (c->entries < entries && c->entries < vectors * c->vlen) {
        int8_t *place = &c->b[below(vectors) * c->vlen + below(c->vlen)];
        c->entries += !*place;
        *place = 1;
    }
}

static int32_t value_of(const contents *c, int64_t place)
{
    return c->iso ? 5 : (int32_t)place + 1;
}

/* ---- arrays ---- */

static void fill_dense(tsr_handover *a, const contents *c)
{
    int32_t *x = a->x;
    for (int64_t k = 0; k < c->nvec * c->vlen; k++)
        x[k] = value_of(c, k);
    if (a->b)
        memcpy(a->b, c->b, (size_t)(c->nvec * c->vlen));
    a->nvals = c->entries;
}

/* Jumbled: each vector backwards. */
static void fill_sparse(tsr_handover *a, const contents *c)
{
    int32_t *x = a->x;
    uint64_t e = 0;
    for (int64_t v = 0; v < c->nvec; v++) {
        a->p[v] = e;
        for (int64_t k = 0; k < c->vlen; k++) {
            const int64_t i = c->jumbled ? c->vlen - 1 - k : k, place = v * c->vlen + i;
            if (!c->b[place])
                continue;
            x[e] = value_of(c, place);
            a->i[e++] = (uint64_t)i;
        }
    }
    a->p[c->nvec] = e;
    a->jumbled = c->jumbled;
}

static tsr_handover arrays_of(const contents *c)
{
    const bool dense = c->form & (GxB_BITMAP | GxB_FULL);
    static const int32_t one = 5;
    tsr_handover a;
    assert_true(dense ? tsr_arrays_dense(&a, &tsr_door_memory, c->nvec * c->vlen, TSR_INT32, c->form == GxB_BITMAP)
                      : tsr_arrays_compressed(&a, &tsr_door_memory, c->nvec, c->entries, TSR_INT32, false));
    (dense ? fill_dense : fill_sparse)(&a, c);
    if (c->iso)
        tsr_arrays_unify(&a, sizeof one, &one);
    if (c->form == GxB_HYPERSPARSE)
        assert_true(tsr_arrays_list_vectors(&a, 1));
    return a;
}

/* ---- objects ---- */

static GrB_Matrix new_object(const contents *c)
{
    GrB_Matrix C = NULL;
    assert_int_equal(tsr_real.GrB_Matrix_new(&C, tsr_type_handle(TSR_INT32), (GrB_Index)c->vlen, (GrB_Index)c->nvec), GrB_SUCCESS);
    return C;
}

static int32_t status_of(GrB_Matrix C)
{
    int32_t status = 0;
    assert_int_equal(tsr_option_get_int32(C, GxB_SPARSITY_STATUS, &status), GrB_SUCCESS);
    return status;
}

/* SuiteSparse holds the arrays as they are, then it is told. */
static GrB_Matrix theirs(const contents *c, const tsr_settings *s)
{
    GrB_Matrix C = new_object(c);
    tsr_handover a = arrays_of(c);
    assert_int_equal(tsr_pack(C, false, true, &a), GrB_SUCCESS);
    tsr_arrays_free(&a);
    const int32_t pinned = status_of(C);
    assert_int_equal(pinned, c->form);
    assert_int_equal(tsr_option_set_int32(C, GxB_SPARSITY_CONTROL, pinned), GrB_SUCCESS);
    assert_int_equal(tsr_option_set_fp64(C, GxB_HYPER_SWITCH, s->hyper_switch), GrB_SUCCESS);
    assert_int_equal(tsr_option_set_fp64(C, GxB_BITMAP_SWITCH, s->bitmap_switch), GrB_SUCCESS);
    assert_int_equal(tsr_option_set_int32(C, GxB_SPARSITY_CONTROL, s->control), GrB_SUCCESS);
    return C;
}

static GrB_Matrix ours(const contents *c, const tsr_settings *s)
{
    GrB_Matrix C = new_object(c);
    tsr_handover a = arrays_of(c);
    assert_int_equal(tsr_finish_arrays(C, false, true, &a, s), GrB_SUCCESS);
    tsr_arrays_free(&a);
    return C;
}

static void assert_contents(GrB_Matrix C, const contents *c)
{
    GrB_Index i[MOST], j[MOST], n = MOST;
    int32_t x[MOST];
    assert_int_equal(tsr_real.GrB_Matrix_extractTuples_INT32(i, j, x, &n, C), GrB_SUCCESS);
    assert_int_equal(n, c->entries);
    for (GrB_Index e = 0; e < n; e++) {
        const int64_t place = (int64_t)j[e] * c->vlen + (int64_t)i[e];
        assert_true(c->b[place]);
        assert_int_equal(x[e], value_of(c, place));
    }
}

static void compare(const contents *c, const tsr_settings *s)
{
    GrB_Matrix wanted = theirs(c, s), C = ours(c, s);
    tsr_settings kept = tsr_settings_read(C), given = tsr_settings_read(wanted);
    if (status_of(C) != status_of(wanted))
        fail_msg("%lld of %lld x %lld entries, form %d, control %d, switches %g %g: %d, wanted %d", (long long)c->entries,
                 (long long)c->vlen, (long long)c->nvec, c->form, s->control, s->hyper_switch, s->bitmap_switch, status_of(C),
                 status_of(wanted));
    assert_int_equal(kept.control, given.control);
    assert_true(kept.hyper_switch == given.hyper_switch && kept.bitmap_switch == given.bitmap_switch);
    assert_contents(C, c);
    tsr_real.GrB_Matrix_free(&C);
    tsr_real.GrB_Matrix_free(&wanted);
}

static bool has_form(const contents *c, int32_t form)
{
    const bool all = c->entries == c->vlen * c->nvec;
    return form == GxB_FULL ? all : form != GxB_HYPERSPARSE || c->nvec > 1;
}

static void with_every_setting(contents *c)
{
    static const double hyper[] = {-1 /* never */, 0, 0.0625, 0.25, 2}, bitmap[] = {0.04, 0.25, 0.75};
    for (int32_t control = 1; control <= 15; control++)
        for (int h = 0; h < 5; h++)
            for (int b = 0; b < 3; b++) {
                compare(c, &(tsr_settings){control, hyper[h], bitmap[b]});
            }
}

static void in_every_form(contents *c)
{
    for (int32_t form = GxB_HYPERSPARSE; form <= GxB_FULL; form *= 2) {
        c->form = form;
        c->jumbled = false;
        if (!has_form(c, form))
            continue;
        with_every_setting(c);
        c->jumbled = (form & (GxB_SPARSE | GxB_HYPERSPARSE)) && c->entries > 1 && c->vlen > 1;
        if (c->jumbled)
            with_every_setting(c);
    }
}

static void every_form_is_suitesparses(void **state)
{
    static const int64_t shapes[][2] = {{1, 1}, {9, 1}, {1, 16}, {8, 20}, {5, 40}};
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int share = 0; share <= 8; share++) {
            contents c = {.vlen = shapes[k][0], .nvec = shapes[k][1], .iso = share % 3 == 1};
            const int64_t places = c.vlen * c.nvec, vectors = share < 2 ? (c.nvec + 7) / 8 : share < 5 ? (c.nvec + 2) / 3 : c.nvec;
            draw(&c, share == 1 ? 1 : share * places / 8, vectors);
            in_every_form(&c);
        }
}

/* ---- one value ---- */

static void *dirty(size_t size)
{
    void *block = malloc(size);
    return block ? memset(block, 0xA5, size) : NULL;
}

static void zeros_follow_one_value(void **state)
{
    static const tsr_memory memory = {.allocate = dirty, .allocate_copy = dirty, .release = free, .resize = realloc};
    const int32_t one = 5;
    uint64_t word;
    tsr_handover a;
    (void)state;
    assert_true(tsr_arrays_dense(&a, &memory, 3, TSR_INT32, false));
    tsr_arrays_unify(&a, sizeof one, &one);
    memcpy(&word, a.x, sizeof word);
    assert_true(a.iso && a.x_bytes == sizeof one);
    assert_int_equal(word, 5);
    tsr_arrays_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form_is_suitesparses), cmocka_unit_test(zeros_follow_one_value)};
    if (!dlopen(REAL_LIBRARY, RTLD_NOW | RTLD_GLOBAL) || GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return GrB_finalize() == GrB_SUCCESS ? failed : 1;
}
