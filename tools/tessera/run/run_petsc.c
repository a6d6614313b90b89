/* tessera run --petsc: options of PETSc that load its plug-in.  PETSc's first process reads them and tells the others.
 * SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tessera/common/tool.h"

int tsr_tool_set_petsc(void)
{
    char path[PATH_MAX], *options = NULL;
    const char *before = getenv("PETSC_OPTIONS");
    if (!tsr_tool_find_library(path, sizeof path, "petsc/libtessera_petsc.so")) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "there is no plug-in for PETSc; it is built where PETSc is installed (-Dpetsc=enabled)");
    }
    if (strpbrk(path, " \t\"'")) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "%s cannot be an option of PETSc: its path holds a space or a quote", path);
    }
    bool good = asprintf(&options, "-dll_append %s -tessera_rebind %s", path, before ? before : "") >= 0 &&
                setenv("PETSC_OPTIONS", options, 1) == 0;
    free(options);
    return good ? 0 : tsr_tool_fail(TSR_EXIT_BROKEN, "out of memory");
}
