/* Pictures as SVG; PNG by the program rsvg-convert, through pipes, so that file names never meet its options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/common/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "tools/tessera/common/tool.h"

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

static bool is_png(const char *path)
{
    return strcasecmp(extension(path), "png") == 0;
}

/* ---- the converter ---- */

/* Start it with these streams (-1: the null device), its warnings unheard; its process id, or -1. */
static pid_t start_converter(char *const *arguments, int in, int out)
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
    int failed = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
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

static bool have_converter(void)
{
    char *const arguments[] = {"rsvg-convert", "--version", NULL};
    pid_t child = start_converter(arguments, -1, -1);
    return child > 0 && ended_well(child);
}

int tsr_plot_check(const char *path)
{
    if (is_png(path) && !have_converter()) {
        return tsr_tool_fail(EX_UNAVAILABLE, "a .png needs the program rsvg-convert, which is not here (Debian: librsvg2-bin); a .svg needs nothing");
    }
    bool exists = access(path, F_OK) == 0;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        return tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", path, strerror(errno));
    }
    close(file);
    if (!exists) {
        unlink(path);
    }
    return 0;
}

/* ---- elements ---- */

/* Text of XML; bytes that it does not allow are left out. */
static void put_text(FILE *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        const char *entity = *s == '&' ? "&amp;" : *s == '<' ? "&lt;" : *s == '>' ? "&gt;" : NULL;
        if (entity) {
            fputs(entity, out);
        } else if (*s >= 0x20 && *s != 0x7f) {
            fputc(*s, out);
        }
    }
}

/* Plain rules, no variables: rsvg-convert knows none. */
static const char style[] =
    "<style>text{font:13px 'DejaVu Sans',system-ui,sans-serif;fill:#1b1f24}.title{font-size:16px;font-weight:bold}.soft{fill:#59636e;font-size:12px}"
    ".number{text-anchor:end}.good{fill:#1a7f37;font-weight:bold}.bad{fill:#b42318;font-weight:bold}.back{fill:#fff}.plain{fill:#8c96a0}"
    ".ours{fill:#2166ac}.device{fill:#d9690a}.mark{fill:#1b1f24;stroke:#1b1f24}.grid{stroke:#d8dee4}"
    "@media (prefers-color-scheme:dark){text{fill:#e6e9ec}.soft{fill:#a3adb8}.good{fill:#57c270}.bad{fill:#ff8a7a}.back{fill:#14181d}"
    ".plain{fill:#77828d}.ours{fill:#58a6e8}.device{fill:#f0964a}.mark{fill:#e6e9ec;stroke:#e6e9ec}.grid{stroke:#333b44}}</style>\n";

int tsr_plot_begin(tsr_plot *plot, const char *path, double width, double height, const char *title)
{
    *plot = (tsr_plot){.path = path, .svg = tmpfile()};
    if (!plot->svg) {
        return tsr_tool_fail(EX_CANTCREAT, "cannot make a temporary file: %s", strerror(errno));
    }
    fprintf(plot->svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\">\n<title>",
            width, height, width, height);
    put_text(plot->svg, title);
    fprintf(plot->svg, "</title>\n%s<rect class=\"back\" width=\"%g\" height=\"%g\"/>\n", style, width, height);
    return 0;
}

void tsr_plot_text(const tsr_plot *plot, double x, double y, const char *class, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(plot->svg, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    put_text(plot->svg, text);
    fputs("</text>\n", plot->svg);
}

void tsr_plot_bar(const tsr_plot *plot, double x, double y, double width, double height, const char *class)
{
    fprintf(plot->svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" class=\"%s\"/>\n", x, y, width > 1 ? width : 1, height,
            class);
}

void tsr_plot_line(const tsr_plot *plot, double x1, double y1, double x2, double y2, const char *class)
{
    fprintf(plot->svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, class);
}

void tsr_plot_dot(const tsr_plot *plot, double x, double y, double radius, const char *class)
{
    fprintf(plot->svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"%s\"/>\n", x, y, radius, class);
}

const char *tsr_plot_count(char text[32], long long number)
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%lld", number);
    int used = 0;
    for (int k = 0; k < length; k++) {
        if (k > 0 && digits[k - 1] != '-' && (length - k) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = digits[k];
    }
    text[used] = '\0';
    return text;
}

const char *tsr_plot_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- writing ---- */

/* From a pipe or file to the picture; false: errno says why. */
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

/* Twice the size, for screens of today. */
static int convert_into(const tsr_plot *plot, FILE *file)
{
    char *const arguments[] = {"rsvg-convert", "--format=png", "--zoom=2", NULL};
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
        return tsr_tool_fail(EX_OSERR, "cannot make a pipe: %s", strerror(errno));
    }
    pid_t child = start_converter(arguments, fileno(plot->svg), pipe_ends[1]);
    close(pipe_ends[1]);
    bool copied = copy_all(pipe_ends[0], file);
    int why = errno;
    close(pipe_ends[0]);
    bool drawn = child > 0 && ended_well(child);
    if (!copied) {
        return tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", plot->path, strerror(why));
    }
    return drawn ? 0 : tsr_tool_fail(EX_SOFTWARE, "rsvg-convert failed to draw %s", plot->path);
}

static int copy_into(const tsr_plot *plot, FILE *file)
{
    return copy_all(fileno(plot->svg), file) ? 0 : tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", plot->path, strerror(errno));
}

int tsr_plot_end(tsr_plot *plot)
{
    fputs("</svg>\n", plot->svg);
    bool whole = fflush(plot->svg) == 0 && !ferror(plot->svg) && lseek(fileno(plot->svg), 0, SEEK_SET) == 0;
    FILE *file = whole ? fopen(plot->path, "wb") : NULL;
    int code = !whole ? tsr_tool_fail(EX_CANTCREAT, "cannot write a temporary file: %s", strerror(errno))
               : file ? (is_png(plot->path) ? convert_into : copy_into)(plot, file)
                      : tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", plot->path, strerror(errno));
    fclose(plot->svg);
    if (file && fclose(file) != 0 && code == 0) {
        code = tsr_tool_fail(EX_CANTCREAT, "cannot write %s: %s", plot->path, strerror(errno));
    }
    return code;
}

const char *tsr_tool_take_plot(const char *arg, const struct argp_state *state)
{
    if (!tsr_plot_name_ok(arg)) {
        tsr_tool_wrong(state, "--plot=%s: the name must end in .svg or .png", arg);
    }
    return arg;
}
