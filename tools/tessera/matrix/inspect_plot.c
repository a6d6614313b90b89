/* Draw the picture of a matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/matrix/inspect_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tessera/common/tool.h"

/* Cells of the spy picture along the longer side, its shades; bins of the window picture. */
enum { SPY = 240, SHADES = 5, SPARSITY_BINS = 64, COLUMN_BINS = 56, BORDER_POINTS = 200, BORDER_STEPS = 800 };
/* The three parts, side by side. */
enum { WIDTH = 1240, HEIGHT = 536, PART = 360, TOP = 96, LEFT_SPY = 24, LEFT_WINDOWS = 470, LEFT_ROWS = 950 };

/* ---- the spy picture ---- */

typedef struct spy_cell {
    int64_t all, tensor; /* entries; those in windows for Tensor Cores */
} spy_cell;

typedef struct spy {
    int64_t rows, cols; /* cells */
    int64_t most;       /* entries of the fullest cell */
    spy_cell *cell;
} spy;

static bool count_cells(spy *s, const tsr_inspection *i, const tsr_mm_csr *a)
{
    int64_t longest = a->nrows > a->ncols ? a->nrows : a->ncols, cells = longest < SPY ? longest : SPY;
    s->rows = a->nrows > 0 ? (a->nrows * cells + longest - 1) / longest : 1;
    s->cols = a->ncols > 0 ? (a->ncols * cells + longest - 1) / longest : 1;
    s->most = 1;
    s->cell = calloc((size_t)(s->rows * s->cols), sizeof *s->cell);
    const int64_t stored = a->row ? a->nstored : a->nrows;
    const tsr_window *window = i->windows;
    for (int64_t r = 0, row, before = 0; s->cell && r < stored; r++, before = row) {
        row = a->row ? a->row[r] : r;
        window += r > 0 && row / TSR_INSPECT_HEIGHT != before / TSR_INSPECT_HEIGHT;
        bool tensor = tsr_route_window((double)window->nvals, (double)window->vectors) == TSR_WINDOW_TENSOR_CORES;
        spy_cell *line = s->cell + row * cells / longest * s->cols;
        for (int64_t k = a->p[r]; k < a->p[r + 1]; k++) {
            spy_cell *c = &line[a->i[k] * cells / longest];
            c->all++;
            c->tensor += tensor;
            s->most = c->all > s->most ? c->all : s->most;
        }
    }
    return s->cell != NULL;
}

/* 0: nothing; paler where entries are few. */
static int shade_of(const spy *s, const spy_cell *c)
{
    double strength = s->most == 1 ? 1 : log((double)c->all + 1) / log((double)s->most + 1);
    int shade = (int)ceil(strength * SHADES);
    return c->all == 0 ? 0 : shade < 1 ? 1 : shade > SHADES ? SHADES : shade;
}

/* The cells of one shade and one route as one path: neighbours in a row are one rectangle. */
static void draw_shade(const tsr_plot *plot, const spy *s, int shade, bool tensor, double cell)
{
    bool any = false;
    for (int64_t row = 0; row < s->rows; row++) {
        for (int64_t col = 0, run; col < s->cols; col += run + 1) {
            const spy_cell *c = &s->cell[row * s->cols + col];
            for (run = 0; col + run < s->cols && shade_of(s, c + run) == shade && (2 * c[run].tensor >= c[run].all) == tensor; run++) {
            }
            if (run > 0) {
                if (!any) {
                    fprintf(plot->svg, "<path class=\"%s\" fill-opacity=\"%.2f\" transform=\"translate(%d %d) scale(%g)\" d=\"",
                            tensor ? "device" : "ours", 0.2 + 0.8 * shade / SHADES, LEFT_SPY, TOP, cell);
                }
                any = true;
                fprintf(plot->svg, "M%lld %lldh%lldv1h-%lldz", (long long)col, (long long)row, (long long)run, (long long)run);
            }
        }
    }
    fputs(any ? "\"/>\n" : "", plot->svg);
}

static void draw_frame(const tsr_plot *plot, double x, double y, double width, double height)
{
    fprintf(plot->svg, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" class=\"grid\"/>\n", x, y, width, height);
}

static void draw_spy(const tsr_plot *plot, const spy *s, const tsr_inspection *i)
{
    const double cell = (double)PART / (double)(s->rows > s->cols ? s->rows : s->cols);
    char rows[32], cols[32];
    tsr_plot_text(plot, LEFT_SPY, TOP - 16, "", "Where its entries are: %s × %s", tsr_plot_count(rows, i->nrows), tsr_plot_count(cols, i->ncols));
    for (int shade = 1; shade <= SHADES; shade++) {
        draw_shade(plot, s, shade, false, cell);
        draw_shade(plot, s, shade, true, cell);
    }
    draw_frame(plot, LEFT_SPY, TOP, cell * (double)s->cols, cell * (double)s->rows);
}

/* ---- the row windows ---- */

typedef struct bins {
    int64_t count[COLUMN_BINS][SPARSITY_BINS];
    double most_columns; /* the widest window, at least 2 */
} bins;

static void count_bins(bins *b, const tsr_inspection *i)
{
    memset(b, 0, sizeof *b);
    b->most_columns = 2;
    for (int64_t v = 0; v < i->nlisted; v++) {
        b->most_columns = fmax(b->most_columns, (double)i->windows[v].vectors);
    }
    for (int64_t v = 0; v < i->nlisted; v++) {
        double nvals = (double)i->windows[v].nvals, vectors = (double)i->windows[v].vectors;
        if (nvals > 0) {
            int y = (int)(log(vectors) / log(b->most_columns) * (COLUMN_BINS - 1) + 0.5);
            int x = (int)(tsr_window_sparsity(nvals, vectors) * (SPARSITY_BINS - 1) + 0.5);
            b->count[y][x]++;
        }
    }
}

static double bin_columns(const bins *b, double y)
{
    return pow(b->most_columns, y / (COLUMN_BINS - 1));
}

/* Where a window of such sparsity and so many nonzero columns is drawn. */
static double window_x(double sparsity)
{
    return LEFT_WINDOWS + PART * sparsity;
}

static double window_y(const bins *b, double columns)
{
    return TOP + PART * (1 - log(columns) / log(b->most_columns * 1.3));
}

static void draw_bins(const tsr_plot *plot, const bins *b, tsr_window_route route)
{
    for (int y = 0; y < COLUMN_BINS; y++) {
        for (int x = 0; x < SPARSITY_BINS; x++) {
            double vectors = bin_columns(b, y), sparsity = (double)x / (SPARSITY_BINS - 1);
            double nvals = (1 - sparsity) * TSR_INSPECT_HEIGHT * vectors;
            if (b->count[y][x] > 0 && tsr_route_window(nvals, vectors) == route) {
                tsr_plot_dot(plot, window_x(sparsity), window_y(b, vectors), 2 + 0.8 * log10((double)b->count[y][x]),
                             route == TSR_WINDOW_TENSOR_CORES ? "device" : "ours");
            }
        }
    }
}

/* For each number of columns the sparsity where the route changes. */
static void draw_border(const tsr_plot *plot, const bins *b)
{
    for (int y = 0; y < BORDER_POINTS; y++) {
        double vectors = bin_columns(b, (double)y * (COLUMN_BINS - 1) / (BORDER_POINTS - 1));
        for (int x = 0; x < BORDER_STEPS; x++) {
            const double most = 1 - 1.0 / TSR_INSPECT_HEIGHT, full = TSR_INSPECT_HEIGHT * vectors; /* an entry in every vector */
            double here = most * x / BORDER_STEPS, next = most * (x + 1) / BORDER_STEPS;
            bool last = x + 1 == BORDER_STEPS;
            if (!last && tsr_route_window((1 - here) * full, vectors) != tsr_route_window((1 - next) * full, vectors)) {
                tsr_plot_dot(plot, window_x((here + next) / 2), window_y(b, vectors), 0.8, "mark");
            }
        }
    }
}

/* A grid line for each power of ten, and for each fifth of the sparsity. */
static void draw_axes(const tsr_plot *plot, const bins *b)
{
    char text[32];
    for (double columns = 1; columns <= b->most_columns; columns *= 10) {
        tsr_plot_line(plot, LEFT_WINDOWS, window_y(b, columns), LEFT_WINDOWS + PART, window_y(b, columns), "grid");
        tsr_plot_text(plot, LEFT_WINDOWS - 6, window_y(b, columns) + 4, "soft number", "%s", tsr_plot_count(text, (long long)columns));
    }
    for (int fifth = 0; fifth <= 5; fifth++) {
        tsr_plot_text(plot, window_x(fifth / 5.0) + 12, TOP + PART + 16, "soft number", "%d%%", 20 * fifth);
    }
    tsr_plot_text(plot, LEFT_WINDOWS, TOP + PART + 34, "soft", "empty places among the columns that a window uses");
}

static void draw_windows(const tsr_plot *plot, const bins *b, const tsr_inspection *i)
{
    char count[32];
    tsr_plot_text(plot, LEFT_WINDOWS, TOP - 16, "", "%s windows of %d rows, by columns used", tsr_plot_count(count, i->nwindows), TSR_INSPECT_HEIGHT);
    draw_axes(plot, b);
    draw_bins(plot, b, TSR_WINDOW_CUDA_CORES);
    draw_bins(plot, b, TSR_WINDOW_TENSOR_CORES);
    draw_border(plot, b);
    draw_frame(plot, LEFT_WINDOWS, TOP, PART, PART);
}

/* ---- degrees ---- */

static void label_of(char label[64], int class)
{
    char first[32], last[32];
    const long long low = class > 0 ? 1ll << (class - 1) : 0, high = class > 0 ? (1ll << class) - 1 : 0;
    snprintf(label, 64, low == high ? "%s" : "%s to %s", tsr_plot_count(first, low), tsr_plot_count(last, high));
}

static void draw_degrees(const tsr_plot *plot, const tsr_inspection *i)
{
    int classes = TSR_DEGREE_CLASSES;
    double most = 1;
    char label[64], count[32];
    while (classes > 1 && i->degrees[classes - 1] == 0) {
        classes--;
    }
    for (int k = 0; k < classes; k++) {
        most = fmax(most, (double)i->degrees[k]);
    }
    const double height = fmin(22, (double)PART / classes), left = LEFT_ROWS + 86, room = 110;
    tsr_plot_text(plot, LEFT_ROWS, TOP - 16, "", "Rows by entries: mean %.1f, most %s", i->mean_row, tsr_plot_count(count, i->longest_row));
    for (int k = 0; k < classes; k++) {
        const double y = TOP + k * height, length = room * (double)i->degrees[k] / most;
        label_of(label, k);
        tsr_plot_text(plot, left - 8, y + height / 2 + 4, "soft number", "%s", label);
        if (i->degrees[k] > 0) {
            tsr_plot_bar(plot, left, y + 2, length, height - 4, "plain");
            tsr_plot_text(plot, left + length + 6, y + height / 2 + 4, "soft", "%s", tsr_plot_count(count, i->degrees[k]));
        }
    }
}

/* ---- the whole ---- */

static void draw_head(const tsr_plot *plot, const tsr_inspection *i, const char *name)
{
    char entries[32], tensor[32], cuda[32];
    tsr_plot_text(plot, LEFT_SPY, 34, "title", "%s: %s entries", name, tsr_plot_count(entries, i->nvals));
    tsr_plot_bar(plot, LEFT_SPY, HEIGHT - 27, 12, 12, "ours");
    tsr_plot_text(plot, LEFT_SPY + 18, HEIGHT - 16, "", "windows for CUDA cores: %s", tsr_plot_count(cuda, i->routes[TSR_WINDOW_CUDA_CORES]));
    tsr_plot_bar(plot, LEFT_SPY + 270, HEIGHT - 27, 12, 12, "device");
    tsr_plot_text(plot, LEFT_SPY + 288, HEIGHT - 16, "", "for Tensor Cores: %s", tsr_plot_count(tensor, i->routes[TSR_WINDOW_TENSOR_CORES]));
    tsr_plot_line(plot, LEFT_WINDOWS + 60, HEIGHT - 20, LEFT_WINDOWS + 84, HEIGHT - 20, "mark");
    tsr_plot_text(plot, LEFT_WINDOWS + 92, HEIGHT - 16, "", "border between them, by the model");
}

int tsr_inspect_plot(const tsr_inspection *i, const tsr_mm_csr *a, const char *path_of_matrix, const char *path)
{
    static bins windows;
    char title[512];
    const char *name = tsr_plot_name(path_of_matrix);
    spy picture;
    tsr_plot plot;
    if (!count_cells(&picture, i, a)) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "out of memory");
    }
    snprintf(title, sizeof title, "%.200s: entries, row windows, rows by number of entries", name);
    int code = tsr_plot_begin(&plot, path, WIDTH, HEIGHT, title);
    if (code == 0) {
        draw_head(&plot, i, name);
        draw_spy(&plot, &picture, i);
        count_bins(&windows, i);
        draw_windows(&plot, &windows, i);
        draw_degrees(&plot, i);
        code = tsr_plot_end(&plot);
    }
    free(picture.cell);
    return code;
}
