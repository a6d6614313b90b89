/* The library that PETSc is told to load: it asks the PETSc around it what it is, and loads the plug-in that was compiled for that.  Knows no
 * header of PETSc, so that it fits all of them.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PETSC_COMPLEX = 2, PETSC_INT = 16 }; /* of PetscDataType: the same in every version */

/* dlsym gives an object pointer where a function pointer is meant. */
typedef union function {
    void *address;
    int (*version)(void *major, void *minor, void *subminor, void *release);
    int (*size)(int type, size_t *size);
    int (*named)(const char *name, int *type, void *found);
    int (*entry)(void);
} function;

static int warn(const char *what, const char *detail)
{
    fprintf(stderr, "tessera: %s%s; PETSc goes on without\n", what, detail ? detail : "");
    return 0;
}

/* ---- the PETSc around ---- */

/* A host that was loaded with names of its own (Python) keeps PETSc's names local: they are needed by everybody. */
static int publish_petsc(struct dl_phdr_info *info, size_t size, void *unused)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    (void)unused;
    return strncmp(slash ? slash + 1 : info->dlpi_name, "libpetsc", strlen("libpetsc")) == 0 &&
           dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL) != NULL;
}

static function find(const char *name)
{
    function f = {dlsym(RTLD_DEFAULT, name)};
    if (!f.address) {
        dl_iterate_phdr(publish_petsc, NULL);
        f.address = dlsym(RTLD_DEFAULT, name);
    }
    return f;
}

/* "3.18-real-int32"; false: this is no PETSc. */
static int describe(char *kind, size_t size)
{
    const function version = find("PetscGetVersionNumber"), bytes = find("PetscDataTypeGetSize"), named = find("PetscDataTypeFromString");
    int64_t number[4] = {0}, found = 0; /* wide enough for any PetscInt and PetscBool; little-endian */
    int scalar = 0, real = 0;
    size_t int_size = 0, real_size = 0;
    if (!version.address || !bytes.address || !named.address) {
        return 0;
    }
    version.version(&number[0], &number[1], &number[2], &number[3]);
    bytes.size(PETSC_INT, &int_size);
    named.named("scalar", &scalar, &found);
    named.named("real", &real, &found);
    bytes.size(real, &real_size);
    snprintf(kind, size, "%d.%d-%s%s-int%d", (int)number[0], (int)number[1], scalar == PETSC_COMPLEX ? "complex" : "real",
             real_size == sizeof(double) ? "" : "-single", (int)int_size * 8);
    return 1;
}

/* ---- its plug-in ---- */

/* "3.18-real-int32" -> "tessera_petsc_3_18_real_int32" */
static void name_plugin(char *name, size_t size, const char *kind)
{
    snprintf(name, size, "tessera_petsc_%s", kind);
    for (char *s = name; *s; s++) {
        *s = *s == '.' || *s == '-' ? '_' : *s;
    }
}

/* In the folder of its kind beside this file, or in a build folder beside it. */
static int find_plugin(char *path, size_t size, const char *kind, const char *name)
{
    Dl_info own;
    char file[PATH_MAX];
    if (!dladdr((void *)(uintptr_t)name_plugin, &own) || !realpath(own.dli_fname, file)) {
        return 0;
    }
    *strrchr(file, '/') = '\0';
    int n = snprintf(path, size, "%s/%s/lib%s.so", file, kind, name);
    if (n >= (int)size || access(path, F_OK) != 0) {
        n = snprintf(path, size, "%s/lib%s.so", file, name);
    }
    return n < (int)size && access(path, F_OK) == 0;
}

int PetscDLLibraryRegister_tessera_petsc(void);

/* PETSc calls it once this library is open; an error of the plug-in is PETSc's to handle. */
__attribute__((visibility("default"))) int PetscDLLibraryRegister_tessera_petsc(void)
{
    char kind[64], name[96], symbol[160], path[PATH_MAX];
    if (!describe(kind, sizeof kind)) {
        return warn("no PETSc in this program", NULL);
    }
    name_plugin(name, sizeof name, kind);
    if (!find_plugin(path, sizeof path, kind, name)) {
        return warn("no plug-in was built for PETSc ", kind);
    }
    void *plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!plugin) {
        return warn("the plug-in cannot be loaded: ", dlerror());
    }
    snprintf(symbol, sizeof symbol, "PetscDLLibraryRegister_%s", name);
    const function entry = {dlsym(plugin, symbol)};
    return entry.address ? entry.entry() : warn("not a plug-in: ", path);
}
