/* A library that stands before the C library, as many allocators and tools do: its getppid is the next one, or -1 where that is itself.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

pid_t getppid(void)
{
    pid_t (*next)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "getppid");
    return next == getppid ? -1 : next();
}
