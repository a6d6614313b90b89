/* Options, timed steps and saved answers of the example programs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* FP32 sums of a million terms, one after the other, are off by as much. */
#define ROUNDING 1e-4

enum { MOST_STEPS = 16, MOST_TURNS = 100, SMALL_ANSWER = 1 << 22 };

static clockid_t clock_used = CLOCK_MONOTONIC;

typedef struct step_turns {
    char name[32];
    double ms[MOST_TURNS], read_ms[MOST_TURNS];
    double *pairs; /* answer of the first turn, `count` numbers: position, value, … */
    GrB_Index count;
} step_turns;

struct turns {
    step_turns steps[MOST_STEPS];
};

typedef struct command_line {
    program *p;
    const char *input, *write;
} command_line;

static int positive(struct argp_state *state, const char *option, const char *text, int accepted)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (!accepted) argp_error(state, "this program has no %s", option);
    if (errno || *end || end == text || value < 1 || value > 1000000)
        argp_error(state, "%s: '%s' is not a count", option, text);
    return (int)value;
}

static double tolerance(struct argp_state *state, const char *text, bool accepted)
{
    char *end;
    const double value = strtod(text, &end);
    if (!accepted) argp_error(state, "this program has no --tolerance");
    if (*end || end == text || !(value >= 0 && value < 1)) argp_error(state, "--tolerance: '%s' is not in [0, 1)", text);
    return value;
}

static const char *known_form(struct argp_state *state, const program *p, const char *text)
{
    for (int f = 0; p->form && p->forms[f]; f++)
        if (strcmp(p->forms[f], text) == 0) return p->forms[f];
    argp_error(state, "this program has no form '%s'", text);
    return NULL;
}

static FILE *open_answers(struct argp_state *state, const char *path, const char *how)
{
    FILE *file = fopen(path, how);
    if (!file) argp_failure(state, 1, errno, "%s", path);
    return file;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    command_line *c = state->input;
    program *p = c->p;
    switch (key) {
    case 'i': p->iterations = positive(state, "--iterations", text, p->iterations); return 0;
    case 'n': p->columns = positive(state, "--columns", text, p->columns); return 0;
    case 'k': p->k = positive(state, "--k", text, p->k); return 0;
    case 'd': p->delta = positive(state, "--delta", text, p->delta); return 0;
    case 't': p->tolerance = tolerance(state, text, p->converges); return 0;
    case 'r':
        p->repeat = positive(state, "--repeat", text, 1);
        if (p->repeat > MOST_TURNS) argp_error(state, "--repeat: at most %d", MOST_TURNS);
        return 0;
    case 'c': clock_used = CLOCK_PROCESS_CPUTIME_ID; return 0;
    case 'f': p->form = known_form(state, p, text); return 0;
    case 's': p->save = open_answers(state, text, "wb"); return 0;
    case 'w': c->write = text; return 0;
    case 'a': p->against = open_answers(state, text, "rb"); return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "one graph, please");
        c->input = text;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"iterations", 'i', "COUNT", 0, "iterate this often at most (pagerank, ppr), layers (gcn, attention)", 0},
    {"tolerance", 't', "SUM", 0, "stop when ranks change by less altogether (pagerank, ppr)", 0},
    {"columns", 'n', "COUNT", 0, "columns of the dense operand (gcn, attention, sddmm), sources (betweenness, ppr)", 0},
    {"k", 'k', "COUNT", 0, "the k of the k-truss", 0},
    {"delta", 'd', "LENGTH", 0, "width of a bucket of paths (sssp)", 0},
    {"form", 'f', "NAME", 0, "formulation (triangles, sssp, components)", 0},
    {"repeat", 'r', "COUNT", 0, "do the same work this often, in one process", 0},
    {"cpu-time", 'c', 0, 0, "times are CPU time of the process, for a busy machine", 0},
    {"write-graph", 'w', "FILE.grb", 0, "only write the graph to FILE.grb, which opens faster", 0},
    {"save", 's', "FILE", 0, "write every answer to FILE", 0},
    {"against", 'a', "FILE", 0, "compare every answer with those of FILE", 0},
    {0}};

static void write_graph(program *p, const char *path)
{
    if (!graph_write(&p->g, path)) {
        perror(path);
        exit(1);
    }
    exit(program_end(p));
}

void program_start(program *p, int argc, char **argv)
{
    command_line c = {.p = p, .input = "karate"};
    p->repeat = 1;
    p->turns = calloc(1, sizeof *p->turns);
    if (!p->turns) program_check(GrB_OUT_OF_MEMORY, "calloc", __FILE__, __LINE__);
    argp_err_exit_status = 2;
    static const char inputs[] =
        "[karate | rmat:SCALE[:EDGE_FACTOR] | communities:VERTICES[:EDGE_FACTOR] | FILE.mtx[.gz] | FILE.grb]";
    argp_parse(&(struct argp){options, parse, inputs, p->doc, 0, 0, 0}, argc, argv, 0, 0, &c);
    setvbuf(stdout, NULL, _IOLBF, 0);
    TRY(GrB_init(GrB_NONBLOCKING));
    if (!graph_open(&p->g, c.input)) exit(1);
    if (c.write) write_graph(p, c.write);
    printf("graph %s vertices %llu edges %llu\n", c.input, (unsigned long long)p->g.n, (unsigned long long)p->g.edges);
}

/* Median of the turns after the first. */
static double later(const double *ms, int turns)
{
    double sorted[MOST_TURNS];
    int count = 0;
    for (int turn = 1; turn < turns; turn++) {
        int at = count++;
        for (; at > 0 && sorted[at - 1] > ms[turn]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = ms[turn];
    }
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void print_turns(const program *p)
{
    for (int k = 0; k < p->step; k++) {
        const step_turns *s = &p->turns->steps[k];
        printf("turns %s %d first %.3f later %.3f read first %.3f later %.3f\n", s->name, p->repeat, s->ms[0],
               later(s->ms, p->repeat), s->read_ms[0], later(s->read_ms, p->repeat));
    }
}

int program_end(program *p)
{
    if (p->repeat > 1) print_turns(p);
    graph_close(&p->g);
    for (int k = 0; k < MOST_STEPS; k++) free(p->turns->steps[k].pairs);
    free(p->turns);
    if (p->against) fclose(p->against);
    const bool saved = !p->save || fclose(p->save) == 0;
    if (!saved) perror("--save");
    TRY(GrB_finalize());
    return saved ? 0 : 1;
}

bool program_turn(program *p)
{
    if (p->turn == p->repeat) return false;
    p->turn++;
    p->step = 0;
    return true;
}

double program_now_ms(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

void program_step(program *p)
{
    p->started = program_now_ms();
}

/* The clock stops; the next one to call is looked_at. */
static step_turns *computed(program *p, const char *name)
{
    const double ms = program_now_ms() - p->started;
    step_turns *s = &p->turns->steps[p->step++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->ms[p->turn - 1] = ms;
    printf("step %s %.3f\n", name, ms);
    p->started = program_now_ms();
    return s;
}

static void save(const program *p, const step_turns *s)
{
    const double header = (double)s->count;
    if (!p->save) return;
    if (fwrite(&header, sizeof header, 1, p->save) == 1 &&
        fwrite(s->pairs, sizeof *s->pairs, s->count, p->save) == s->count)
        return;
    perror("--save");
    exit(1);
}

/* Largest difference of the values, relative to the largest value of a; infinite when entries stand elsewhere or only one is a NaN. */
static double difference(const double *a, const double *b, GrB_Index count)
{
    double largest = 0, apart = 0;
    for (GrB_Index k = 0; k < count; k += 2) {
        const double x = a[k + 1], y = b[k + 1];
        if (isfinite(x)) largest = fmax(largest, fabs(x));
        if (a[k] != b[k] || isnan(x) != isnan(y)) return INFINITY;
        if (x != y && !isnan(x)) apart = fmax(apart, fabs(x - y));
    }
    return apart > 0 ? apart / largest : 0;
}

/* Next answer of the file; NULL: it has another number of entries. */
static double *read_answer(FILE *file, GrB_Index count)
{
    double header = 0, *pairs = NULL;
    if (fread(&header, sizeof header, 1, file) == 1 && header == (double)count) pairs = malloc((count + 1) * sizeof *pairs);
    if (pairs && fread(pairs, sizeof *pairs, count, file) == count) return pairs;
    free(pairs);
    return NULL;
}

static void compare(const program *p, const step_turns *s)
{
    if (!p->against) return;
    double *other = read_answer(p->against, s->count);
    printf("difference %s %.3g\n", s->name, other ? difference(other, s->pairs, s->count) : (double)INFINITY);
    free(other);
}

static void report(const program *p, step_turns *s, double *pairs, GrB_Index count)
{
    double sum = 0;
    for (GrB_Index k = 1; k < count; k += 2) sum += pairs[k];
    printf("answer %s checksum %.9g read %.3f\n", s->name, sum, s->read_ms[p->turn - 1]);
    if (p->turn == 1) {
        s->pairs = pairs, s->count = count;
        save(p, s);
        compare(p, s);
        return;
    }
    if (s->count != count || !(difference(s->pairs, pairs, count) <= ROUNDING)) {
        fprintf(stderr, "step %s: turn %d has another answer than the first\n", s->name, p->turn);
        exit(1);
    }
    free(pairs);
}

/* Until the answer is in host memory. */
static void read_first(const program *p, step_turns *s, GrB_Matrix A, GrB_Vector v)
{
    double first;
    TRY(A ? GrB_Matrix_extractElement_FP64(&first, A, 0, 0) : GrB_Vector_extractElement_FP64(&first, v, 0));
    s->read_ms[p->turn - 1] = program_now_ms() - p->started;
}

/* Entries as FP64 in row-major order, each after its position, so that a moved entry shows as a difference. */
static void report_tuples(const program *p, step_turns *s, GrB_Matrix A, GrB_Vector v)
{
    GrB_Index count = 0, width = 1;
    TRY(A ? GrB_Matrix_nvals(&count, A) : GrB_Vector_nvals(&count, v));
    if (count > SMALL_ANSWER && p->turn > 1 && p->turn < p->repeat) return; /* looked at in the last turn */
    if (A) TRY(GrB_Matrix_ncols(&width, A));
    GrB_Index *i = malloc((count + 1) * sizeof *i), *j = calloc(count + 1, sizeof *j);
    double *x = malloc((count + 1) * sizeof *x), *pairs = malloc((2 * count + 1) * sizeof *pairs);
    if (!i || !j || !x || !pairs) program_check(GrB_OUT_OF_MEMORY, s->name, __FILE__, __LINE__);
    TRY(A ? GrB_Matrix_extractTuples_FP64(i, j, x, &count, A) : GrB_Vector_extractTuples_FP64(i, x, &count, v));
    for (GrB_Index k = 0; k < count; k++) {
        pairs[2 * k] = (double)(i[k] * width + j[k]);
        pairs[2 * k + 1] = x[k];
    }
    report(p, s, pairs, 2 * count);
    free(i);
    free(j);
    free(x);
}

void program_step_matrix(program *p, const char *name, GrB_Matrix answer)
{
    TRY(GrB_Matrix_wait(answer, GrB_MATERIALIZE));
    step_turns *s = computed(p, name);
    read_first(p, s, answer, NULL);
    report_tuples(p, s, answer, NULL);
}

void program_step_vector(program *p, const char *name, GrB_Vector answer)
{
    TRY(GrB_Vector_wait(answer, GrB_MATERIALIZE));
    step_turns *s = computed(p, name);
    read_first(p, s, NULL, answer);
    report_tuples(p, s, NULL, answer);
}

void program_step_value(program *p, const char *name, double answer)
{
    double *pairs = calloc(2, sizeof *pairs);
    if (!pairs) program_check(GrB_OUT_OF_MEMORY, name, __FILE__, __LINE__);
    pairs[1] = answer;
    report(p, computed(p, name), pairs, 2);
}

void program_check(GrB_Info info, const char *call, const char *file, int line)
{
    if (info == GrB_SUCCESS || info == GrB_NO_VALUE) return;
    fprintf(stderr, "%s:%d: GraphBLAS error %d in %s\n", file, line, (int)info, call);
    exit(1);
}
