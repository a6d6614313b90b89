/* Models as text.  One statement a line:
 *     tessera-model 3
 *     device NVIDIA H200
 *     arch 90
 *     date 2026-11-21
 *     window <arithmetic> <width of B> <TSR_WINDOW_TERMS numbers>
 *     kernel <kernel> <arithmetic> <width of B> <TSR_KERNEL_TERMS numbers>
 *     making <kernel> <TSR_MAKING_TERMS numbers>
 *     end
 * The first three come in this order, nothing follows the last.  What is not named is not known.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/policy/model/model.h"

enum { MOST_LINE = 512 };

static const char not_understood[] = "a line that is not understood";

/* ---- reading ---- */

/* `at` behind `word` and a blank; NULL: it does not begin so. */
static const char *after(const char *at, const char *word)
{
    size_t length = strlen(word);
    return strncmp(at, word, length) == 0 && at[length] == ' ' ? at + length + 1 : NULL;
}

static int find_word(const char **at, const char *const *words, int count)
{
    for (int k = 0; k < count; k++) {
        const char *rest = after(*at, words[k]);
        if (rest) {
            *at = rest;
            return k;
        }
    }
    return -1;
}

/* Exactly `count` finite numbers up to the end of the line. */
static const char *read_numbers(double *x, int count, const char *at, double least)
{
    for (int k = 0; k < count; k++) {
        char *end;
        x[k] = strtod(at, &end);
        if (end == at || (*end && *end != ' '))
            return "numbers are missing";
        if (!isfinite(x[k]) || fabs(x[k]) > 1e9 || x[k] < least)
            return "a number out of range";
        at = *end ? end + 1 : end;
    }
    return *at ? "too many numbers" : NULL;
}

/* Number of one of the widths; -1: it is none. */
static int find_width(const char **at)
{
    static const char *const widths[TSR_MODEL_WIDTHS] = {"8", "32", "128", "512"};
    return find_word(at, widths, TSR_MODEL_WIDTHS);
}

static const char *read_kernel(tsr_model *m, const char *at)
{
    int kernel = find_word(&at, tsr_gpu_kernel_names, TSR_GPU_KERNELS);
    int math = kernel < 0 ? -1 : find_word(&at, tsr_gpu_math_names, TSR_GPU_MATHS);
    int width = math < 0 ? -1 : find_width(&at);
    return width < 0 ? "a kernel that is not known" : read_numbers(m->kernel[kernel][math][width], TSR_KERNEL_TERMS, at, 0);
}

static const char *read_window(tsr_model *m, const char *at)
{
    int math = find_word(&at, tsr_gpu_math_names, TSR_GPU_MATHS), width = math < 0 ? -1 : find_width(&at);
    return width < 0 ? "an arithmetic that is not known" : read_numbers(m->window[math][width], TSR_WINDOW_TERMS, at, -1e9);
}

static const char *read_making(tsr_model *m, const char *at)
{
    int kernel = find_word(&at, tsr_gpu_kernel_names, TSR_GPU_KERNELS);
    return kernel < 0 ? "a kernel that is not known" : read_numbers(m->making[kernel], TSR_MAKING_TERMS, at, 0);
}

static const char *read_device(tsr_model *m, const char *at)
{
    for (const char *c = at; *c; c++)
        if (!isprint((unsigned char)*c))
            return not_understood;
    if (!*at || strlen(at) >= sizeof m->device)
        return "a device without a name";
    strcpy(m->device, at);
    return NULL;
}

static const char *read_date(tsr_model *m, const char *at)
{
    static const char shape[] = "dddd-dd-dd";
    for (size_t k = 0; k < sizeof shape; k++)
        if (shape[k] == 'd' ? !isdigit((unsigned char)at[k]) : at[k] != shape[k])
            return not_understood;
    strcpy(m->date, at);
    return NULL;
}

static const char *read_arch(tsr_model *m, const char *at)
{
    double arch;
    const char *wrong = read_numbers(&arch, 1, at, 1);
    m->arch = wrong ? 0 : (int)arch;
    return wrong || arch > 999 ? "an architecture that is not one" : NULL;
}

typedef const char *reader(tsr_model *m, const char *at);

static const char *read_statement(tsr_model *m, const char *line)
{
    static const struct {
        const char *word;
        reader *read;
    } readers[] = {{"kernel", read_kernel}, {"window", read_window}, {"making", read_making}, {"date", read_date}};
    for (size_t k = 0; k < sizeof readers / sizeof *readers; k++) {
        const char *rest = after(line, readers[k].word);
        if (rest)
            return readers[k].read(m, rest);
    }
    return not_understood;
}

static const char *read_version(const char *line)
{
    const char *rest = after(line, "tessera-model");
    if (!rest)
        return "not a model of Tessera";
    return strcmp(rest, "3") == 0 ? NULL : "another version of models";
}

/* Line number `number`, from 0. */
static const char *read_line(tsr_model *m, const char *line, int number)
{
    const char *rest;
    switch (number) {
    case 0: return read_version(line);
    case 1: return (rest = after(line, "device")) ? read_device(m, rest) : "no device";
    case 2: return (rest = after(line, "arch")) ? read_arch(m, rest) : "no architecture";
    default: return read_statement(m, line);
    }
}

const char *tsr_model_parse(tsr_model *model, const char *text, size_t length)
{
    tsr_model m = {0};
    char line[MOST_LINE];
    const char *wrong = NULL, *end = text + length;
    for (int number = 0; !wrong; number++) {
        const char *stop = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
        if (!stop)
            return "it is cut off";
        if ((size_t)(stop - text) >= sizeof line || memchr(text, 0, (size_t)(stop - text)))
            return not_understood;
        memcpy(line, text, (size_t)(stop - text));
        line[stop - text] = 0;
        text = stop + 1;
        if (number > 2 && strcmp(line, "end") == 0) {
            if (text != end)
                return "something follows its end";
            *model = m;
            return NULL;
        }
        wrong = read_line(&m, line, number);
    }
    return wrong;
}

/* ---- writing ---- */

/* As much as there is room for; the length counts all. */
typedef struct output {
    char *text;
    size_t size, length;
} output;

static void put(output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(output *o, const char *format, ...)
{
    va_list args;
    size_t room = o->length < o->size ? o->size - o->length : 0;
    va_start(args, format);
    int written = vsnprintf(room ? o->text + o->length : NULL, room, format, args);
    va_end(args);
    o->length += written > 0 ? (size_t)written : 0;
}

static void put_numbers(output *o, const double *x, int count)
{
    for (int k = 0; k < count; k++)
        put(o, " %.6g", x[k]);
    put(o, "\n");
}

static bool any(const double *x, int count)
{
    for (int k = 0; k < count; k++)
        if (x[k] != 0)
            return true;
    return false;
}

/* One statement for every width that is known; kernel is NULL for windows. */
static void put_widths(output *o, const char *kernel, int math, const double *x, int terms)
{
    for (int width = 0; width < TSR_MODEL_WIDTHS; width++, x += terms) {
        if (!any(x, terms))
            continue;
        put(o, "%s%s %s %d", kernel ? "kernel " : "window", kernel ? kernel : "", tsr_gpu_math_names[math], tsr_model_widths[width]);
        put_numbers(o, x, terms);
    }
}

size_t tsr_model_print(char *text, size_t size, const tsr_model *m)
{
    output o = {.text = text, .size = size};
    put(&o, "tessera-model 3\ndevice %s\narch %d\n", m->device, m->arch);
    if (*m->date)
        put(&o, "date %s\n", m->date);
    for (int math = 0; math < TSR_GPU_MATHS; math++)
        put_widths(&o, NULL, math, m->window[math][0], TSR_WINDOW_TERMS);
    for (int kernel = 0; kernel < TSR_GPU_KERNELS; kernel++)
        for (int math = 0; math < TSR_GPU_MATHS; math++)
            put_widths(&o, tsr_gpu_kernel_names[kernel], math, m->kernel[kernel][math][0], TSR_KERNEL_TERMS);
    for (int kernel = 0; kernel < TSR_GPU_KERNELS; kernel++)
        if (any(m->making[kernel], TSR_MAKING_TERMS)) {
            put(&o, "making %s", tsr_gpu_kernel_names[kernel]);
            put_numbers(&o, m->making[kernel], TSR_MAKING_TERMS);
        }
    put(&o, "end\n");
    return o.length;
}
