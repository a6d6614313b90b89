/* Run gnuplot: the script is its standard input, the picture its standard output, so that file names never meet its syntax.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "tools/tessera/tool.h"

extern char **environ;

static const char *extension(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : "";
}

bool tsr_plot_name_ok(const char *path)
{
    return strcasecmp(extension(path), "svg") == 0 || strcasecmp(extension(path), "png") == 0;
}

/* Start gnuplot with these streams (-1: the null device), its warnings unheard; its process id, or -1. */
static pid_t start_gnuplot(char *const *arguments, int in, int out)
{
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    posix_spawn_file_actions_init(&actions);
    if (in >= 0) {
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    }
    if (out >= 0) {
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    } else {
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? -1 : child;
}

static bool ended_well(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool have_gnuplot(void)
{
    char *const arguments[] = {"gnuplot", "--version", NULL};
    pid_t child = start_gnuplot(arguments, -1, -1);
    return child > 0 && ended_well(child);
}

int tsr_plot_check(const char *path)
{
    if (!have_gnuplot()) {
        return tsr_tool_fail(EX_UNAVAILABLE, "--plot needs the program gnuplot, which is not here (Debian: gnuplot-nox)");
    }
    bool there = access(path, F_OK) == 0;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        return tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", path, strerror(errno));
    }
    close(file);
    if (!there) {
        unlink(path);
    }
    return 0;
}

int tsr_plot_begin(tsr_plot *plot, const char *path, int width, int height)
{
    const char *terminal = strcasecmp(extension(path), "svg") == 0 ? "svg" : "pngcairo";
    *plot = (tsr_plot){.path = path};
    plot->script = tmpfile();
    if (!plot->script) {
        return tsr_tool_fail(EX_CANTCREAT, "cannot make a temporary file: %s", strerror(errno));
    }
    fprintf(plot->script, "set terminal %s size %d,%d font 'DejaVu Sans,11' background rgb 'white'\nset encoding utf8\n", terminal, width,
            height);
    return 0;
}

/* From gnuplot's output to the file; false: errno says why. */
static bool copy_all(int from, FILE *to)
{
    char buffer[1 << 16];
    ssize_t n;
    while ((n = read(from, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0 && fwrite(buffer, 1, (size_t)n, to) != (size_t)n) {
            return false;
        }
    }
    return n == 0 && fflush(to) == 0;
}

static int draw_into(const tsr_plot *plot, FILE *file)
{
    char *const arguments[] = {"gnuplot", "-", NULL};
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
        return tsr_tool_fail(EX_OSERR, "cannot make a pipe: %s", strerror(errno));
    }
    pid_t child = start_gnuplot(arguments, fileno(plot->script), pipe_ends[1]);
    close(pipe_ends[1]);
    bool copied = copy_all(pipe_ends[0], file);
    int why = errno;
    close(pipe_ends[0]);
    bool drawn = child > 0 && ended_well(child);
    if (!copied) {
        return tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", plot->path, strerror(why));
    }
    return drawn ? 0 : tsr_tool_fail(EX_SOFTWARE, "gnuplot failed to draw %s", plot->path);
}

int tsr_plot_end(tsr_plot *plot)
{
    bool whole = fflush(plot->script) == 0 && fseek(plot->script, 0, SEEK_SET) == 0;
    FILE *file = whole ? fopen(plot->path, "wb") : NULL;
    int code = !whole ? tsr_tool_fail(EX_CANTCREAT, "cannot write a temporary file: %s", strerror(errno))
               : file ? draw_into(plot, file)
                      : tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", plot->path, strerror(errno));
    fclose(plot->script);
    if (file && fclose(file) != 0 && code == 0) {
        code = tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", plot->path, strerror(errno));
    }
    return code;
}

void tsr_plot_text(const tsr_plot *plot, const char *text)
{
    fputc('"', plot->script);
    for (const char *s = text; *s; s++) {
        bool special = *s == '"' || *s == '\\' || *s == '`' || *s == '$';
        if ((unsigned char)*s >= 0x20) {
            fprintf(plot->script, special ? "\\%c" : "%c", *s);
        }
    }
    fputc('"', plot->script);
}
