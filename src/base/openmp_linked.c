/* For compilers that do not call libgomp: regions run on the runtime that we are linked with.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/openmp.h"

#include <stddef.h>

bool tsr_openmp_share(void *library)
{
    (void)library;
    return false;
}

void *tsr_openmp_shared(void)
{
    return NULL;
}
