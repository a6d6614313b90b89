/* Plug-ins for test_backends: FAKE_VERSION, FAKE_SCORE and FAKE_STATUS (of execute) say what is wrong with this one; FAKE_NOTHING
 * exports nothing; FAKE_SLOW takes some time for its score and to begin, and ends the process with 70 if exit comes meanwhile, with 71 if it has begun.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tessera/backend.h"

#ifdef FAKE_SLOW
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_bool busy, began;

static void at_exit(void)
{
    if (busy || began)
        _exit(busy ? 70 : 71);
}

__attribute__((constructor)) static void loaded(void)
{
    atexit(at_exit);
}

static void work(void)
{
    busy = true;
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    busy = false;
}

static void begin(void)
{
    work();
    began = true;
}
#elif !defined FAKE_NOTHING
static void work(void) {}
static void begin(void) {}
#endif

#ifndef FAKE_VERSION
#define FAKE_VERSION TSR_BACKEND_API_VERSION
#endif
#ifndef FAKE_STATUS
#define FAKE_STATUS TSR_OK
#endif

#ifndef FAKE_NOTHING
static bool supports(const tsr_product *product)
{
    return product->m == 1;
}

static tsr_status execute(const tsr_product *product, tsr_result *result)
{
    (void)product;
    result->nvals = 42;
    return FAKE_STATUS;
}

static const char *kernel_name(const tsr_product *product)
{
    (void)product;
    return "fake_kernel";
}

TSR_PUBLIC const tsr_backend *tsr_backend_init(const tsr_backend_options *options);
TSR_PUBLIC int tsr_backend_score(const tsr_backend_options *options);

const tsr_backend *tsr_backend_init(const tsr_backend_options *options)
{
    static const tsr_backend backend = {.api_version = FAKE_VERSION, .name = "fake", .supports = supports, .execute = execute,
                                        .kernel_name = kernel_name};
    begin();
    return options->device == 0 ? &backend : NULL;
}

int tsr_backend_score(const tsr_backend_options *options)
{
    work();
    return options->device == 0 ? FAKE_SCORE : 0;
}
#endif
