/* Reader of Matrix Market files: one pass, own number parsing, memory grows with the entries read.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/mtx/mm.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_SIZE = 1 << 20, MOST_NOISE = 1 << 26, GZIP_RATIO = 1032, SHORTEST_COORDINATE = 4, SHORTEST_VALUE = 2 };
static const int64_t LARGEST_SIZE = INT64_C(1) << 60; /* as GrB_INDEX_MAX + 1 */

/* Where bytes come from, and the lines in them. */
typedef struct input {
    gzFile file;      /* NULL: memory */
    const char *text; /* memory: what is left */
    size_t text_left;
    char *buffer; /* BUFFER_SIZE + 1 bytes */
    size_t start, end;
    bool at_end;
    int64_t line;
    int64_t most_bytes; /* text the file can expand to; < 0: unknown */
    int64_t noise;      /* bytes of comments and blank lines */
    int64_t file_bytes; /* of the file as it lies there; 0: unknown */
    tsr_mm_progress progress; /* or NULL */
    void *watcher;
    const char *name;
    char *error;
    size_t error_size;
} input;

static bool fail(input *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(input *in, const char *format, ...)
{
    int n = in->line > 0 ? snprintf(in->error, in->error_size, "%s:%lld: ", in->name, (long long)in->line)
                         : snprintf(in->error, in->error_size, "%s: ", in->name);
    if (n >= 0 && (size_t)n < in->error_size) {
        va_list args;
        va_start(args, format);
        vsnprintf(in->error + n, in->error_size - (size_t)n, format, args);
        va_end(args);
    }
    for (char *s = in->error; *s; s++) {
        *s = iscntrl((unsigned char)*s) ? '?' : *s;
    }
    return false;
}

/* ---- lines ---- */

static long read_bytes(input *in, char *to, size_t n)
{
    if (in->file) {
        return gzread(in->file, to, (unsigned)n);
    }
    n = n < in->text_left ? n : in->text_left;
    memcpy(to, in->text, n);
    in->text += n;
    in->text_left -= n;
    return (long)n;
}

static bool check_stream(input *in)
{
    int status = Z_OK;
    const char *why = in->file ? gzerror(in->file, &status) : "";
    if (status == Z_OK || status == Z_STREAM_END) {
        return true;
    }
    if (status == Z_BUF_ERROR) {
        return fail(in, "the compressed file ends too early");
    }
    return fail(in, "cannot read: %s", status == Z_ERRNO ? strerror(errno) : why);
}

static bool refill(input *in)
{
    memmove(in->buffer, in->buffer + in->start, in->end - in->start);
    in->end -= in->start;
    in->start = 0;
    if (in->end == BUFFER_SIZE) {
        in->line++;
        return fail(in, "the line is longer than 1 MiB");
    }
    long got = read_bytes(in, in->buffer + in->end, BUFFER_SIZE - in->end);
    if (got <= 0) {
        in->at_end = true;
        return check_stream(in);
    }
    in->end += (size_t)got;
    if (in->progress && in->file_bytes > 0) {
        in->progress(in->watcher, (double)gzoffset(in->file) / (double)in->file_bytes);
    }
    return true;
}

/* The next line, terminated by '\n' (also where the file lacks one), in *line; NULL there: the end of the file. */
static bool next_line(input *in, char **line)
{
    char *newline;
    while (!(newline = memchr(in->buffer + in->start, '\n', in->end - in->start)) && !in->at_end) {
        if (!refill(in)) {
            return false;
        }
    }
    *line = in->start < in->end ? in->buffer + in->start : NULL;
    if (*line) {
        in->start = newline ? (size_t)(newline + 1 - in->buffer) : in->end;
        if (!newline) {
            in->buffer[in->end] = '\n';
        }
        in->line++;
    }
    return true;
}

static const char *skip_blanks(const char *s)
{
    while (*s == ' ' || *s == '\t' || *s == '\r') {
        s++;
    }
    return s;
}

/* The next line that is neither blank nor a comment. */
static bool next_content(input *in, const char **content)
{
    char *line;
    while (next_line(in, &line)) {
        *content = line ? skip_blanks(line) : NULL;
        if (!line || (**content != '\n' && **content != '%')) {
            return true;
        }
        in->noise += in->buffer + in->start - line;
        if (in->noise > MOST_NOISE) {
            return fail(in, "more than 64 MiB of comments and blank lines");
        }
    }
    return false;
}

/* ---- numbers ---- */

static bool is_number_end(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* An integer without sign, at most 2^63 - 1. */
static bool parse_index(const char **at, int64_t *value)
{
    const char *s = skip_blanks(*at), *first = s;
    uint64_t number = 0;
    while (*s >= '0' && *s <= '9') {
        if (number > (uint64_t)INT64_MAX / 10 - 1) {
            return false;
        }
        number = 10 * number + (uint64_t)(*s++ - '0');
    }
    *at = s;
    *value = (int64_t)number;
    return s > first && is_number_end(*s);
}

static bool parse_with_strtod(const char **at, double *value)
{
    char *end = (char *)*at;
    *value = isspace((unsigned char)**at) ? 0 : strtod(*at, &end); /* strtod would skip the end of the line */
    bool good = end > *at && is_number_end(*end);
    *at = end;
    return good;
}

/* Digits up to 2^53 times or over a power of ten up to 10^22 is one rounded operation; the rest is strtod's. */
static bool parse_real(const char **at, double *value)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *s = skip_blanks(*at), *start = s;
    bool negative = *s == '-';
    s += *s == '-' || *s == '+';
    uint64_t digits = 0;
    const char *first = s, *point = NULL;
    for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
        if (*s == '.') {
            point = s;
        } else if (digits < (UINT64_C(1) << 53) / 10) {
            digits = 10 * digits + (uint64_t)(*s - '0');
        } else {
            break;
        }
    }
    long behind = point ? s - point - 1 : 0;
    if (!is_number_end(*s) || s - first - (point != NULL) <= 0 || behind > 22) {
        *at = start;
        return parse_with_strtod(at, value);
    }
    double number = (double)digits / powers[behind];
    *value = negative ? -number : number;
    *at = s;
    return true;
}

static bool parse_integer(const char **at, double *value)
{
    int64_t number;
    const char *s = skip_blanks(*at);
    bool negative = *s == '-';
    *at = s + (*s == '-' || *s == '+');
    bool good = isdigit((unsigned char)**at) && parse_index(at, &number);
    *value = good ? (double)(negative ? -number : number) : 0;
    return good;
}

/* ---- the header ---- */

static bool take_word(const char **at, char *word, size_t size)
{
    const char *s = skip_blanks(*at);
    size_t n = 0;
    while (*s && !is_number_end(*s)) {
        if (n + 1 == size) {
            return false;
        }
        word[n++] = *s++;
    }
    word[n] = '\0';
    *at = s;
    return n > 0;
}

static int find(const char *word, const char *const *words)
{
    for (int k = 0; words[k]; k++) {
        if (strcasecmp(word, words[k]) == 0) {
            return k;
        }
    }
    return -1;
}

static bool read_banner(input *in, tsr_mm *m)
{
    static const char *const layouts[] = {"coordinate", "array", NULL};
    static const char *const fields[] = {"real", "integer", "pattern", "double", NULL};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", NULL};
    char word[5][32], *line;
    if (!next_line(in, &line)) {
        return false;
    }
    const char *at = line ? line : "\n";
    for (int k = 0; k < 5; k++) {
        if (!take_word(&at, word[k], sizeof word[k])) {
            return fail(in, "not a Matrix Market file: the first line must be \"%%%%MatrixMarket matrix ...\"");
        }
    }
    if (strcasecmp(word[0], "%%MatrixMarket") != 0) {
        return fail(in, "not a Matrix Market file: the first line must be \"%%%%MatrixMarket matrix ...\"");
    }
    int layout = find(word[2], layouts), field = find(word[3], fields), symmetry = find(word[4], symmetries);
    if (strcasecmp(word[1], "matrix") != 0 || layout < 0 || field < 0 || symmetry < 0 ||
        (layout == 1 && field == TSR_MM_PATTERN)) {
        return fail(in, "not supported: %s %s %s %s", word[1], word[2], word[3], word[4]);
    }
    m->dense = layout == 1;
    m->field = field == 3 ? TSR_MM_REAL : (tsr_mm_field)field;
    m->symmetry = (tsr_mm_symmetry)symmetry;
    return true;
}

/* Entries an array file lists: all, or the lower triangle with or without the diagonal. -1: too many. */
static int64_t array_entries(const tsr_mm *m)
{
    int64_t n = m->ncols, entries;
    if (m->symmetry == TSR_MM_GENERAL) {
        return __builtin_mul_overflow(m->nrows, n, &entries) ? -1 : entries;
    }
    int64_t other = m->symmetry == TSR_MM_SYMMETRIC ? n + 1 : n - 1;
    if (n == 0) {
        return 0;
    }
    return n % 2 == 0 ? (__builtin_mul_overflow(n / 2, other, &entries) ? -1 : entries)
                      : (__builtin_mul_overflow(n, other / 2, &entries) ? -1 : entries);
}

static bool too_many_for_shape(const tsr_mm *m)
{
    int64_t cells;
    return !__builtin_mul_overflow(m->nrows, m->ncols, &cells) && m->declared > cells;
}

static bool check_sizes(input *in, tsr_mm *m)
{
    if (m->nrows > LARGEST_SIZE || m->ncols > LARGEST_SIZE) {
        return fail(in, "more than 2^60 rows or columns");
    }
    if (m->symmetry != TSR_MM_GENERAL && m->nrows != m->ncols) {
        return fail(in, "a symmetric matrix must be square, this one is %lld x %lld", (long long)m->nrows,
                    (long long)m->ncols);
    }
    if (m->dense) {
        m->declared = array_entries(m);
    }
    if (m->declared < 0 || too_many_for_shape(m)) {
        return fail(in, "more entries than a %lld x %lld matrix has", (long long)m->nrows, (long long)m->ncols);
    }
    int64_t shortest = m->dense ? SHORTEST_VALUE : SHORTEST_COORDINATE;
    if (in->most_bytes >= 0 && m->declared > in->most_bytes / shortest + 1) {
        return fail(in, "declares %lld entries, more than the file can hold", (long long)m->declared);
    }
    return true;
}

static bool read_sizes(input *in, tsr_mm *m)
{
    const char *at;
    if (!next_content(in, &at)) {
        return false;
    }
    if (!at) {
        return fail(in, "the file ends before the line of sizes");
    }
    bool good = parse_index(&at, &m->nrows) && parse_index(&at, &m->ncols);
    good = good && (m->dense || parse_index(&at, &m->declared));
    if (!good || *skip_blanks(at) != '\n') {
        return fail(in, "not a line of sizes (%s)", m->dense ? "rows columns" : "rows columns entries");
    }
    return check_sizes(in, m);
}

/* ---- entries ---- */

static bool grow_array(void *array, int64_t count, size_t element)
{
    void *old, *bigger;
    memcpy(&old, array, sizeof old);
    bigger = realloc(old, (size_t)count * element);
    if (bigger) {
        memcpy(array, &bigger, sizeof bigger);
    }
    return bigger != NULL;
}

/* Room for two more entries.  More than the machine's memory is refused before the kernel has to kill somebody. */
static bool grow(input *in, tsr_mm *m, int64_t *room)
{
    if (m->nvals + 2 <= *room) {
        return true;
    }
    int64_t more = *room < 512 ? 1024 : *room / 2 * 3;
    int64_t entry = 2 * (int64_t)sizeof(int64_t) + (m->field == TSR_MM_PATTERN ? 0 : (int64_t)sizeof(double));
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (memory > 0 && more > memory / entry) {
        return fail(in, "more entries than this machine has memory for");
    }
    if (!grow_array(&m->row, more, sizeof *m->row) || !grow_array(&m->col, more, sizeof *m->col) ||
        (m->field != TSR_MM_PATTERN && !grow_array(&m->value, more, sizeof *m->value))) {
        return fail(in, "out of memory after %lld entries", (long long)m->nvals);
    }
    *room = more;
    return true;
}

static void put(tsr_mm *m, int64_t row, int64_t col, double value)
{
    m->row[m->nvals] = row;
    m->col[m->nvals] = col;
    if (m->value) {
        m->value[m->nvals] = value;
    }
    m->nvals++;
}

static void put_entry(tsr_mm *m, int64_t row, int64_t col, double value)
{
    put(m, row, col, value);
    if (m->symmetry != TSR_MM_GENERAL && row != col) {
        put(m, col, row, m->symmetry == TSR_MM_SKEW ? -value : value);
    }
}

static bool parse_value(input *in, const tsr_mm *m, const char **at, double *value)
{
    if (m->field == TSR_MM_PATTERN) {
        return true;
    }
    bool good = m->field == TSR_MM_INTEGER ? parse_integer(at, value) : parse_real(at, value);
    return good ? true : fail(in, "not %s value", m->field == TSR_MM_INTEGER ? "an integer" : "a real");
}

static bool parse_coordinate(input *in, const tsr_mm *m, const char **at, int64_t *row, int64_t *col)
{
    if (!parse_index(at, row) || !parse_index(at, col)) {
        return fail(in, "not a row and a column index");
    }
    if (*row < 1 || *row > m->nrows) {
        return fail(in, "row %lld is not in 1..%lld", (long long)*row, (long long)m->nrows);
    }
    if (*col < 1 || *col > m->ncols) {
        return fail(in, "column %lld is not in 1..%lld", (long long)*col, (long long)m->ncols);
    }
    if (m->symmetry == TSR_MM_SKEW && *row == *col) {
        return fail(in, "a skew-symmetric matrix has no diagonal entries");
    }
    --*row;
    --*col;
    return true;
}

/* The place of the next value of an array file: column by column, of a symmetric one only the lower triangle. */
static void next_cell(const tsr_mm *m, int64_t *row, int64_t *col)
{
    if (++*row < m->nrows) {
        return;
    }
    ++*col;
    *row = m->symmetry == TSR_MM_GENERAL ? 0 : *col + (m->symmetry == TSR_MM_SKEW);
}

static bool read_entry(input *in, tsr_mm *m, int64_t *row, int64_t *col, int64_t entry)
{
    const char *at;
    double value = 1;
    if (!next_content(in, &at)) {
        return false;
    }
    if (!at) {
        return fail(in, "the file ends after %lld of %lld entries", (long long)entry, (long long)m->declared);
    }
    if ((!m->dense && !parse_coordinate(in, m, &at, row, col)) || !parse_value(in, m, &at, &value)) {
        return false;
    }
    if (*skip_blanks(at) != '\n') {
        return fail(in, "unexpected text after the entry");
    }
    put_entry(m, *row, *col, value);
    return true;
}

static bool read_entries(input *in, tsr_mm *m)
{
    int64_t room = 0, row = m->symmetry == TSR_MM_SKEW, col = 0;
    for (int64_t k = 0; k < m->declared; k++) {
        if (!grow(in, m, &room) || !read_entry(in, m, &row, &col, k)) {
            return false;
        }
        if (m->dense) {
            next_cell(m, &row, &col);
        }
    }
    const char *at;
    if (!next_content(in, &at)) {
        return false;
    }
    return at ? fail(in, "text after the last of %lld entries", (long long)m->declared) : true;
}

/* ---- the reader ---- */

static bool read_all(input *in, tsr_mm *m)
{
    memset(m, 0, sizeof *m);
    in->buffer = malloc(BUFFER_SIZE + 1);
    bool good = in->buffer || fail(in, "out of memory");
    good = good && read_banner(in, m) && read_sizes(in, m) && read_entries(in, m);
    free(in->buffer);
    if (!good) {
        tsr_mm_free(m);
    }
    return good;
}

bool tsr_mm_parse(tsr_mm *m, const char *text, size_t length, const char *name, char *error, size_t error_size)
{
    input in = {.text = text, .text_left = length, .name = name, .error = error, .error_size = error_size};
    in.most_bytes = (int64_t)length;
    return read_all(&in, m);
}

bool tsr_mm_read(tsr_mm *m, const char *path, char *error, size_t error_size)
{
    return tsr_mm_read_reporting(m, path, NULL, NULL, error, error_size);
}

bool tsr_mm_read_reporting(tsr_mm *m, const char *path, tsr_mm_progress progress, void *watcher, char *error, size_t error_size)
{
    input in = {.most_bytes = -1, .name = path, .progress = progress, .watcher = watcher, .error = error, .error_size = error_size};
    struct stat info;
    memset(m, 0, sizeof *m);
    if (stat(path, &info) != 0) {
        return fail(&in, "%s", strerror(errno));
    }
    if (S_ISDIR(info.st_mode)) {
        return fail(&in, "%s", strerror(EISDIR));
    }
    in.file = gzopen(path, "rb");
    if (!in.file) {
        return fail(&in, "%s", errno ? strerror(errno) : "out of memory");
    }
    gzbuffer(in.file, BUFFER_SIZE / 4);
    if (S_ISREG(info.st_mode)) {
        in.file_bytes = info.st_size;
        in.most_bytes = gzdirect(in.file) ? info.st_size : (info.st_size + 64) * GZIP_RATIO;
    }
    bool good = read_all(&in, m);
    gzclose(in.file);
    return good;
}

void tsr_mm_free(tsr_mm *m)
{
    free(m->row);
    free(m->col);
    free(m->value);
    memset(m, 0, sizeof *m);
}
