/* Calls, by name, the functions that fake.c has and two that it lacks; prints what they return.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (!function) {
        fprintf(stderr, "no %s\n", name);
        exit(EXIT_FAILURE);
    }
    return function;
}

int main(void)
{
    int (*const init)(int) = (int (*)(int)) find("GrB_init");
    int (*const mxm)(void *, void *, void *, void *, void *, void *, void *) =
        (int (*)(void *, void *, void *, void *, void *, void *, void *)) find("GrB_mxm");
    int (*const nvals)(void *, void *) = (int (*)(void *, void *)) find("GrB_Matrix_nvals");
    double (*const value)(void *) = (double (*)(void *)) find("GxB_Iterator_get_FP64");
    printf("init %d\n", init(0));
    printf("mxm %d\n", mxm(NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    printf("nvals %d\n", nvals(NULL, NULL));
    printf("value %g\n", value(NULL));
    return EXIT_SUCCESS;
}
