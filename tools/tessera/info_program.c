/* tessera info -- PROGRAM: which SuiteSparse:GraphBLAS it will load, found without running it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/runtime/config.h"
#include "tools/tessera/info_program.h"
#include "tools/tessera/common/tool.h"

/* Where a wheel or conda has the library, or the module that links it: what Python would import. */
static const char ask_python[] =
    "import importlib.util as u, pathlib as p\n"
    "s = u.find_spec('suitesparse_graphblas')\n"
    "f = p.Path(s.origin).parent if s else None\n"
    "c = sorted(f.parent.glob('suitesparse_graphblas.libs/libgraphblas*')) + sorted(f.glob('_graphblas*.so')) if f else []\n"
    "print(c[0] if c else '')\n";

/* ---- files ---- */

/* As execvp finds it; a link is not followed: by its place Python knows which packages are its own. */
static bool find_in_path(char *path, const char *name)
{
    const char *folders = getenv("PATH");
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 && snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
    for (const char *at = folders ? folders : ""; *at; at += strcspn(at, ":"), at += *at == ':') {
        char file[PATH_MAX];
        const int n = (int)strcspn(at, ":");
        if (snprintf(file, sizeof file, "%.*s/%s", n, at, name) < (int)sizeof file && access(file, X_OK) == 0)
            return snprintf(path, PATH_MAX, "%s", file) < PATH_MAX;
    }
    return false;
}

/* The interpreter of a script: the last word of "#!/usr/bin/env python3", or the first. */
static bool is_script(char *interpreter, const char *path)
{
    char line[PATH_MAX], *word;
    FILE *file = fopen(path, "re");
    const bool script = file && fgets(line, sizeof line, file) && line[0] == '#' && line[1] == '!';
    if (file)
        fclose(file);
    if (!script || !(word = strtok(line + 2, " \t\n")))
        return false;
    if (strcmp(word, "/usr/bin/env") == 0)
        word = strtok(NULL, " \t\n");
    return word && find_in_path(interpreter, word);
}

/* The loader that an ELF program names; empty: it is linked statically.  False: no ELF program of 64 bits. */
static bool read_loader(char loader[PATH_MAX], const char *path)
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    FILE *file = fopen(path, "re");
    bool good = file && fread(&head, sizeof head, 1, file) == 1 && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_phentsize == sizeof part;
    loader[0] = '\0';
    for (int n = 0; good && n < head.e_phnum && !loader[0]; n++) {
        good = fseek(file, (long)(head.e_phoff + (Elf64_Off)n * sizeof part), SEEK_SET) == 0 && fread(&part, sizeof part, 1, file) == 1;
        if (good && part.p_type == PT_INTERP && part.p_filesz < PATH_MAX)
            good = fseek(file, (long)part.p_offset, SEEK_SET) == 0 && fread(loader, part.p_filesz, 1, file) == 1;
    }
    if (file)
        fclose(file);
    return good;
}

/* ---- other programs ---- */

/* What a command prints first that holds `wanted`; errors are not shown. */
static bool line_of(char *line, size_t size, char *const command[], const char *wanted)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        close(ends[0]);
        execv(command[0], command);
        _exit(127);
    }
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    bool found = false;
    while (out && !found && fgets(line, (int)size, out))
        found = strstr(line, wanted) != NULL;
    if (out)
        fclose(out);
    if (child > 0)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    line[found ? strcspn(line, "\n") : 0] = '\0';
    return found;
}

/* The libgraphblas that the loader would map with a program or module: "libgraphblas.so.7 => /usr/lib/libgraphblas.so.7 (0x…)". */
static bool linked_library(char path[PATH_MAX], const char *loader, const char *object)
{
    char line[PATH_MAX + 256], *begin;
    char *const command[] = {(char *)loader, (char *)"--list", (char *)object, NULL};
    if (!line_of(line, sizeof line, command, "libgraphblas") || !(begin = strstr(line, "=> /")))
        return false;
    begin += strlen("=> ");
    begin[strcspn(begin, " ")] = '\0';
    return snprintf(path, PATH_MAX, "%s", begin) < PATH_MAX;
}

static bool python_library(char path[PATH_MAX], const char *loader, const char *python)
{
    char line[PATH_MAX];
    char *const command[] = {(char *)python, (char *)"-c", (char *)ask_python, NULL};
    if (!line_of(line, sizeof line, command, "graphblas"))
        return false;
    if (strstr(line, "libgraphblas"))
        return snprintf(path, PATH_MAX, "%s", line) < PATH_MAX;
    return linked_library(path, loader, line);
}

/* ---- together ---- */

static bool is_python(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "python", strlen("python")) == 0;
}

/* ".so.10.5.1" -> 10, 0: it does not say */
static int major_of(const char *path)
{
    char resolved[PATH_MAX];
    const char *dot = strstr(realpath(path, resolved) ? resolved : path, ".so.");
    return dot ? atoi(dot + strlen(".so.")) : 0;
}

static bool is_file_of(char path[PATH_MAX], const char *folder, const char *relative, const char *name)
{
    return snprintf(path, PATH_MAX, "%s/%s%s", folder, relative, name) < PATH_MAX && access(path, F_OK) == 0;
}

/* Where the preloaded library will look for it (src/graphblas/preload/choose.c): from the library's own folder. */
static const char *find_door(tsr_program_facts *facts)
{
    char folder[PATH_MAX], name[64];
    if (facts->major != 7 && facts->major != 9 && facts->major != 10)
        return "no: there is no door for this version (7, 9 and 10 have doors), everything is passed through";
    if (!tsr_tool_find_library(folder, sizeof folder, "libtessera.so"))
        return "no: libtessera.so, which is preloaded, is not where this command looks for it; install again";
    *strrchr(folder, '/') = '\0';
    snprintf(name, sizeof name, "libtessera-door%d.so", facts->major);
    if (is_file_of(facts->door, folder, "tessera/", name) || is_file_of(facts->door, folder, "", name))
        return NULL;
    snprintf(facts->why, sizeof facts->why, "no: %s is neither in %s/tessera nor in %s, everything is passed through; install again", name, folder, folder);
    return facts->why;
}

static void judge(tsr_program_facts *facts)
{
    facts->verdict = find_door(facts);
    if (facts->verdict)
        snprintf(facts->door, sizeof facts->door, "none");
    else
        facts->verdict = tsr_config_get()->mode == TSR_MODE_OFF ? "no: mode is off" : "yes, those that are expected to gain";
}

static bool may_be_preloaded(tsr_program_facts *facts, const char *program, const char *loader)
{
    struct stat about;
    if (!loader[0])
        facts->verdict = "no: the program is linked statically";
    else if (stat(program, &about) == 0 && about.st_mode & (S_ISUID | S_ISGID))
        facts->verdict = "no: the program is set-user-ID, nothing is preloaded";
    return !facts->verdict;
}

bool tsr_program_inspect(tsr_program_facts *facts, const char *name)
{
    char script[PATH_MAX], loader[PATH_MAX];
    *facts = (tsr_program_facts){.library = "none that is seen from outside", .door = "-"};
    if (!find_in_path(facts->program, name))
        return false;
    snprintf(script, sizeof script, "%s", facts->program);
    if (is_script(facts->program, script))
        snprintf(script, sizeof script, "%s", facts->program);
    if (!read_loader(loader, facts->program))
        facts->verdict = "no: not a program of this machine";
    if (facts->verdict || !may_be_preloaded(facts, facts->program, loader))
        return true;
    const bool found = linked_library(facts->library, loader, facts->program) ||
                       (is_python(facts->program) && python_library(facts->library, loader, facts->program));
    facts->major = found ? major_of(facts->library) : 0;
    if (found)
        judge(facts);
    else
        facts->verdict = "if it loads a GraphBLAS later: 7, 9 and 10 have doors";
    return true;
}
