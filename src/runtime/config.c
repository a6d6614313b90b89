/* Configuration: the settings from files, environment and API, layer by layer.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/runtime/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/runtime/local_rank.h"
#include "src/runtime/paths.h"
#include "src/runtime/setting.h"
#include "src/runtime/warn.h"

enum { MAX_FILE = 1 << 20 };

/* ---- the settings ---- */

static bool parse_device(void *field, const tsr_setting *o, const char *value)
{
    if (strcasecmp(value, "local") == 0) {
        *(int *)field = TSR_DEVICE_LOCAL;
        return true;
    }
    return tsr_setting_int.parse(field, o, value);
}

static void print_device(char *text, size_t size, const void *field, const tsr_setting *o)
{
    if (*(const int *)field == TSR_DEVICE_LOCAL) {
        snprintf(text, size, "local");
    } else {
        tsr_setting_int.print(text, size, field, o);
    }
}

static const tsr_setting_kind device = {parse_device, print_device};

static const char *const modes[] = {"auto", "cpu", "gpu", "off", NULL};
static const char *const calls[] = {"mxm", "mxv", "vxm", "spmm", "spmv", "sddmm", "masked_dot", "elementwise", "residency",
                                    "spgemm", "early_start", NULL};
static const char *const precisions[] = {"exact", "tf32", "bf16", "fp16", NULL};
static const char *const reorders[] = {"none", "auto", "lpa", "tca", "loa", NULL};
static const char *const switches[] = {"0", "1", "off", "on", "no", "yes", "false", "true", NULL};

_Static_assert(sizeof(tsr_mode) == sizeof(unsigned) && sizeof(tsr_precision) == sizeof(unsigned) &&
               sizeof(tsr_reorder) == sizeof(unsigned), "tsr_setting_word writes an unsigned");

#define FIELD(name) offsetof(tsr_config, name)
#define TEXT(name) (long)sizeof(((tsr_config *)0)->name)

static const tsr_setting settings[] = {
    {"mode", FIELD(mode), &tsr_setting_word, "auto, cpu, gpu, off", modes, 0},
    {"disable", FIELD(disabled), &tsr_setting_flags, "a list of mxm, mxv, vxm, spmm, spmv, sddmm, masked_dot, "
     "spgemm, elementwise, residency, early_start", calls, 0},
    {"min_work", FIELD(min_work), &tsr_setting_work, "auto, or a number from 0 to 1e18", NULL, 0},
    {"device", FIELD(device), &device, "0 to 255, local", NULL, 255},
    {"device_memory", FIELD(device_memory), &tsr_setting_bytes, "bytes, with suffix K, M, G or T", NULL, 0},
    {"precision", FIELD(precision), &tsr_setting_word, "exact, tf32, bf16, fp16", precisions, 0},
    {"reorder", FIELD(reorder), &tsr_setting_word, "none, auto, lpa, tca, loa", reorders, 0},
    {"kernel", FIELD(kernel), &tsr_setting_name, "a kernel's name, at most 31 letters, digits, - and _", NULL,
     TEXT(kernel)},
    {"model", FIELD(model), &tsr_setting_string, "a file name", NULL, TEXT(model)},
    {"trace", FIELD(trace), &tsr_setting_string, "a file name", NULL, TEXT(trace)},
    {"verbose", FIELD(verbose), &tsr_setting_int, "0, 1, 2", NULL, 2},
    {"savings", FIELD(savings), &tsr_setting_bool, "0, 1", switches, 0},
    {"check", FIELD(check), &tsr_setting_bool, "0, 1", switches, 0},
    {"eager", FIELD(eager), &tsr_setting_bool, "0, 1", switches, 0},
    {"defer", FIELD(defer), &tsr_setting_bool, "0, 1", switches, 0},
    {"check_pointers", FIELD(check_pointers), &tsr_setting_bool, "0, 1", switches, 0},
};
enum { SETTING_COUNT = sizeof settings / sizeof *settings };

/* Environment variables of ours that are no settings, or belong to the test programs. */
static const char *const other_variables[] = {
    "TESSERA_CONFIG", "TESSERA_CPU_ISA", "TESSERA_PLUGIN_DIR", "TESSERA_CHECK_BLIND", "TESSERA_WATCH", NULL
};

/* Read where kernels are chosen; judged here. */
static const char *const instruction_sets[] = {"baseline", "avx2", "avx512", NULL};
static const tsr_setting cpu_isa = {.allowed = "baseline, avx2, avx512"};

static atomic_int wrong_count;
static atomic_bool strict;

static const char *consequence(void)
{
    return atomic_load(&strict) ? "" : "; ignored";
}

typedef enum layer { LAYER_DEFAULT, LAYER_SYSTEM, LAYER_USER, LAYER_FILE, LAYER_ENVIRONMENT, LAYER_API } layer;
static const char *const layer_names[] = {"default", "system file", "user file", "TESSERA_CONFIG", "environment",
                                          "API"};

/* A configuration and where each value came from. Published ones are never changed or freed; `older` keeps them
 * reachable. */
typedef struct state {
    tsr_config config;
    unsigned char origin[SETTING_COUNT];
    struct state *older;
} state;

static const tsr_setting *find_setting(const char *name)
{
    for (int k = 0; k < SETTING_COUNT; k++)
        if (strcmp(settings[k].name, name) == 0)
            return &settings[k];
    return NULL;
}

static bool set_setting(tsr_config *config, const tsr_setting *setting, const char *value)
{
    return setting->kind->parse((char *)config + setting->offset, setting, value);
}

void tsr_config_defaults(tsr_config *config)
{
    memset(config, 0, FIELD(kernel));
    *config->kernel = *config->trace = *config->model = '\0'; /* all of their pages would be touched whenever a process starts */
    config->min_work = -1;
    config->reorder = TSR_REORDER_AUTO;
}

/* ---- files ---- */

typedef struct reading {
    tsr_config *config;
    unsigned char *origin; /* NULL: nobody asks */
    layer from;
    const char *text, *end;
    const char *source;
    bool quiet;
    bool pending; /* the last line given to the parser should have produced a name and a value */
    int line, wrong;
} reading;

static void wrong_line(reading *r, const char *what, const char *detail)
{
    char key[128];
    r->wrong++;
    if (!r->quiet) {
        snprintf(key, sizeof key, "config %d %.100s", r->line, r->source);
        atomic_fetch_add(&wrong_count, 1);
        tsr_warn_once(key, "%s, line %d: %s%.200s%s", r->source, r->line, what, detail, consequence());
    }
}

static int take_pair(void *user, const char *section, const char *name, const char *value)
{
    reading *r = user;
    r->pending = false;
    const tsr_setting *o = find_setting(name);
    char detail[400];
    if (*section && strcmp(section, "tessera") != 0) {
        wrong_line(r, "unknown section ", section);
    } else if (!o) {
        wrong_line(r, "unknown name ", name);
    } else if (!set_setting(r->config, o, value)) {
        snprintf(detail, sizeof detail, "%s = %.80s, allowed: %.200s", name, value, o->allowed);
        wrong_line(r, "wrong value: ", detail);
    } else if (r->origin) {
        r->origin[o - settings] = (unsigned char)r->from;
    }
    return 1;
}

/* What is wrong with a line, or NULL; *pair: it holds a name and a value. */
static const char *judge_line(const char *line, size_t length, size_t room, bool *pair)
{
    *pair = false;
    if (length == 0 || *line == ';' || *line == '#') {
        return NULL;
    }
    if (length >= room) {
        return "the line is too long";
    }
    if (memchr(line, '\0', length)) {
        return "the line holds a NUL byte";
    }
    if (*line == '[') {
        return memchr(line, ']', length) ? NULL : "no closing ]";
    }
    *pair = memchr(line, '=', length) || memchr(line, ':', length);
    return *pair ? NULL : "not \"name = value\"";
}

/* The reader inih calls for its next line. Lines it would cut or misread become empty, with a message; leading blanks
 * go, since inih takes an indented line for a continuation. */
static char *next_line(char *out, int size, void *user)
{
    reading *r = user;
    if (r->pending) {
        wrong_line(r, "not \"name = value\"", "");
    }
    r->pending = false;
    if (r->text == r->end) {
        return NULL;
    }
    const char *newline = memchr(r->text, '\n', (size_t)(r->end - r->text));
    const char *start = r->text, *stop = newline ? newline : r->end;
    r->text = newline ? newline + 1 : r->end;
    r->line++;
    if (r->line == 1 && stop - start >= 3 && memcmp(start, "\xEF\xBB\xBF", 3) == 0) {
        start += 3;
    }
    while (start < stop && *start && strchr(" \t\r\v\f", *start)) {
        start++;
    }
    size_t length = (size_t)(stop - start);
    const char *fault = judge_line(start, length, (size_t)size - 3, &r->pending);
    if (fault) {
        wrong_line(r, fault, "");
    }
    if (fault || length == 0 || *start == ';' || *start == '#') {
        length = 0;
    }
    memcpy(out, start, length);
    memcpy(out + length, "\n", 2);
    return out;
}

static int parse_text(reading *r)
{
    ini_parse_stream(next_line, r, take_pair, r);
    return r->wrong;
}

int tsr_config_parse(tsr_config *config, const char *text, size_t length, const char *source, bool quiet)
{
    reading r = {.config = config, .text = text, .end = text + length, .source = source, .quiet = quiet};
    return parse_text(&r);
}

/* The file's bytes (malloc), or NULL with errno. Never blocks on a pipe. */
static char *read_file(const char *path, size_t *length)
{
    struct stat info;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > MAX_FILE) {
        errno = EINVAL;
    } else if ((text = malloc((size_t)info.st_size + 1))) {
        ssize_t got = read(fd, text, (size_t)info.st_size);
        *length = got > 0 ? (size_t)got : 0;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return text;
}

static void load_file(state *s, const char *path, layer from)
{
    size_t length = 0;
    char *text = read_file(path, &length);
    if (text) {
        reading r = {.config = &s->config, .origin = s->origin, .from = from, .text = text, .end = text + length,
                     .source = path};
        parse_text(&r);
        free(text);
    } else if (from == LAYER_FILE || (errno != ENOENT && errno != ENOTDIR)) {
        const char *why = errno == EINVAL ? "not a regular file of at most 1 MiB" : strerror(errno);
        atomic_fetch_add(&wrong_count, 1);
        tsr_warn_once(path, "cannot read configuration %.200s: %s", path, why);
    }
}

static void load_user_file(state *s)
{
    char path[PATH_MAX];
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = 0;
    if (config && *config == '/') { /* a relative one would mean the current directory */
        n = snprintf(path, sizeof path, "%s/tessera/tessera.conf", config);
    } else if (home && *home == '/') {
        n = snprintf(path, sizeof path, "%s/.config/tessera/tessera.conf", home);
    }
    if (n > 0 && n < (int)sizeof path) {
        load_file(s, path, LAYER_USER);
    }
}

/* ---- environment ---- */

static void wrong_variable(const char *name, size_t length, const char *value, const tsr_setting *o)
{
    char key[128];
    snprintf(key, sizeof key, "variable %.*s", (int)(length < 100 ? length : 100), name);
    atomic_fetch_add(&wrong_count, 1);
    if (o) {
        tsr_warn_once(key, "%.*s=%.80s: wrong value, allowed: %s%s", (int)length, name, value, o->allowed,
                      consequence());
    } else {
        tsr_warn_once(key, "%.*s: unknown variable%s", (int)(length < 80 ? length : 80), name, consequence());
    }
}

static bool is_other_variable(const char *name, size_t length)
{
    static const char test[] = "TESSERA_TEST_";
    return strncmp(name, test, strlen(test)) == 0 || tsr_setting_find_word(other_variables, name, length) >= 0;
}

static void load_variable(state *s, const char *variable)
{
    static const char prefix[] = "TESSERA_";
    const char *equals = strchr(variable, '=');
    if (!equals || strncmp(variable, prefix, strlen(prefix)) != 0 || equals[1] == '\0') {
        return;
    }
    size_t length = (size_t)(equals - variable);
    char name[64] = "";
    for (size_t k = strlen(prefix); k < length && k < sizeof name; k++) {
        name[k - strlen(prefix)] = (char)tolower((unsigned char)variable[k]);
    }
    const tsr_setting *o = find_setting(name);
    if (!o && !is_other_variable(variable, length)) {
        wrong_variable(variable, length, "", NULL);
    } else if (strcmp(name, "cpu_isa") == 0 && tsr_setting_find_word(instruction_sets, equals + 1, strlen(equals + 1)) < 0) {
        wrong_variable(variable, length, equals + 1, &cpu_isa);
    } else if (o && !set_setting(&s->config, o, equals + 1)) {
        wrong_variable(variable, length, equals + 1, o);
    } else if (o) {
        s->origin[o - settings] = LAYER_ENVIRONMENT;
    }
}

/* ---- the configuration in force ---- */

const tsr_config *tsr_config_now; /* of a state, whose first member it is */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t api_lock = PTHREAD_MUTEX_INITIALIZER;

/* With other privileges than its caller's, a process believes neither its environment nor its caller's files. */
static bool is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* Threads are counted before the program or SuiteSparse asks for their number. */
static void share_host(const tsr_config *config)
{
    if (config->device == TSR_DEVICE_LOCAL) {
        tsr_local_rank_divide_threads();
    }
}

static void load(void)
{
    static state first;
    tsr_config_defaults(&first.config);
    load_file(&first, TSR_SYSTEM_CONFIG, LAYER_SYSTEM);
    if (!is_privileged()) {
        load_user_file(&first);
        const char *file = getenv("TESSERA_CONFIG");
        if (file && *file) {
            load_file(&first, file, LAYER_FILE);
        }
        for (char **variable = environ; variable && *variable; variable++) {
            load_variable(&first, *variable);
        }
    }
    share_host(&first.config);
    __atomic_store_n(&tsr_config_now, &first.config, __ATOMIC_RELEASE);
}

const tsr_config *tsr_config_load(void)
{
    pthread_once(&once, load);
    return __atomic_load_n(&tsr_config_now, __ATOMIC_ACQUIRE);
}

static const state *loaded(void)
{
    return (const state *)tsr_config_get();
}

bool tsr_config_forces_cpu(void)
{
    const tsr_config *config = tsr_config_get();
    return config->mode == TSR_MODE_CPU && config->min_work == 0;
}

int tsr_config_wrong(void)
{
    atomic_store(&strict, true);
    loaded();
    return atomic_load(&wrong_count);
}

static tsr_status publish(const tsr_setting *o, const char *value)
{
    const state *old = loaded();
    state *s = malloc(sizeof *s);
    if (!s) {
        return TSR_OUT_OF_MEMORY;
    }
    *s = *old;
    if (!set_setting(&s->config, o, value)) {
        free(s);
        return TSR_INVALID_VALUE;
    }
    s->origin[o - settings] = LAYER_API;
    s->older = (state *)old;
    share_host(&s->config);
    __atomic_store_n(&tsr_config_now, &s->config, __ATOMIC_RELEASE);
    return TSR_OK;
}

tsr_status tsr_config_set(const char *name, const char *value)
{
    const tsr_setting *o = name && value ? find_setting(name) : NULL;
    if (!o) {
        return TSR_INVALID_VALUE;
    }
    loaded();
    pthread_mutex_lock(&api_lock);
    tsr_status status = publish(o, value);
    pthread_mutex_unlock(&api_lock);
    return status;
}

bool tsr_config_describe(int index, tsr_config_row *row)
{
    if (index < 0 || index >= SETTING_COUNT) {
        return false;
    }
    const state *s = loaded();
    const tsr_setting *o = &settings[index];
    row->name = o->name;
    row->layer = layer_names[s->origin[index]];
    row->allowed = o->allowed;
    o->kind->print(row->value, sizeof row->value, (const char *)&s->config + o->offset, o);
    return true;
}
