/* A product by the functions of a libgraphblas that this program opens itself, as Julia and ctypes do: RTLD_LOCAL, every name by dlsym.
 * usage: by_handle LIBRARY      prints what came out
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 500, COLUMNS = 16, DEGREE = 4 };

typedef void *handle;
static handle library;

static void *find(const char *name)
{
    dlerror();
    void *found = dlsym(library, name);
    const char *error = dlerror();
    if (error || !found) {
        fprintf(stderr, "%s: %s\n", name, error ? error : "NULL");
        exit(EXIT_FAILURE);
    }
    return found;
}

static handle value_of(const char *name)
{
    return *(handle *)find(name);
}

static void ok(int info)
{
    if (info != 0) {
        fprintf(stderr, "info %d\n", info);
        exit(EXIT_FAILURE);
    }
}

static handle matrix(uint64_t rows, uint64_t columns)
{
    int (*create)(handle *, handle, uint64_t, uint64_t) = (int (*)(handle *, handle, uint64_t, uint64_t))find("GrB_Matrix_new");
    handle made;
    ok(create(&made, value_of("GrB_FP64"), rows, columns));
    return made;
}

static void set(handle a, uint64_t i, uint64_t j, double x)
{
    static int (*function)(handle, double, uint64_t, uint64_t);
    if (!function)
        function = (int (*)(handle, double, uint64_t, uint64_t))find("GrB_Matrix_setElement_FP64");
    ok(function(a, x, i, j));
}

static double sum(handle a)
{
    int (*reduce)(double *, handle, handle, handle, handle) = (int (*)(double *, handle, handle, handle, handle))find("GrB_Matrix_reduce_FP64");
    double total = 0;
    ok(reduce(&total, NULL, value_of("GrB_PLUS_MONOID_FP64"), a, NULL));
    return total;
}

int main(int argc, char **argv)
{
    if (argc != 2 || !(library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL))) {
        fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: by_handle LIBRARY");
        return EXIT_FAILURE;
    }
    ok(((int (*)(int))find("GrB_init"))(0));
    handle a = matrix(ROWS, ROWS), b = matrix(ROWS, COLUMNS), c = matrix(ROWS, COLUMNS);
    for (uint64_t i = 0; i < ROWS; i++) {
        for (uint64_t k = 0; k < DEGREE; k++)
            set(a, i, (i * 7 + k * k * 31) % ROWS, (double)(k + 1));
        for (uint64_t j = 0; j < COLUMNS; j++)
            set(b, i, j, (double)((i + j) % 5));
    }
    int (*mxm)(handle, handle, handle, handle, handle, handle, handle) =
        (int (*)(handle, handle, handle, handle, handle, handle, handle))find("GrB_mxm");
    ok(mxm(c, NULL, NULL, value_of("GrB_PLUS_TIMES_SEMIRING_FP64"), a, b, NULL));
    printf("%.0f\n", sum(c));
    if (dlsym(library, "GrB_no_such_function") || !dlerror())
        return EXIT_FAILURE;
    ok(((int (*)(void))find("GrB_finalize"))());
    return EXIT_SUCCESS;
}
