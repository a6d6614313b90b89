/* Reader of Matrix Market files (.mtx, .mtx.gz), safe on hostile input.
 * Format: "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_MM_H
#define TSR_MM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tsr_mm_field { TSR_MM_REAL, TSR_MM_INTEGER, TSR_MM_PATTERN } tsr_mm_field;
typedef enum tsr_mm_symmetry { TSR_MM_GENERAL, TSR_MM_SYMMETRIC, TSR_MM_SKEW } tsr_mm_symmetry;

/* A matrix as the file lists it, both halves of a symmetric one spelled out.  Indices start at 0; no order; duplicates
 * stay.  value is NULL for a pattern; integers beyond 2^53 are rounded. */
typedef struct tsr_mm {
    int64_t nrows, ncols;
    int64_t nvals;    /* entries here */
    int64_t declared; /* entries in the file */
    bool dense;       /* "array": every entry is there */
    tsr_mm_field field;
    tsr_mm_symmetry symmetry;
    int64_t *row, *col;
    double *value;
} tsr_mm;

/* Read a file; gzip is recognized by content.  False: *m is empty and `error` holds one line without newline,
 * "name:line: what".
 * Refused: complex values, more entries than the file or the machine can hold, lines over 1 MiB,
 * indices out of range, NUL bytes, too few or too many entries.  Memory is taken as entries arrive, never because the
 * header says so. */
bool tsr_mm_read(tsr_mm *m, const char *path, char *error, size_t error_size);

/* Told now and then which share of the file has been read, 0 to 1. */
typedef void (*tsr_mm_progress)(void *watcher, double share);

/* tsr_mm_read with somebody watching (NULL: nobody). */
bool tsr_mm_read_reporting(tsr_mm *m, const char *path, tsr_mm_progress progress, void *watcher, char *error, size_t error_size);

/* The same from memory; `name` is for messages. */
bool tsr_mm_parse(tsr_mm *m, const char *text, size_t length, const char *name, char *error, size_t error_size);

void tsr_mm_free(tsr_mm *m);

/* Compressed rows, columns ascending, duplicates added up (patterns: merged).  All arrays by malloc. */
typedef struct tsr_mm_csr {
    int64_t nrows, ncols, nvals;
    int64_t *p;    /* nrows + 1 */
    int64_t *row;  /* NULL; else p is of nstored rows only, these, and the others are empty */
    int64_t nstored;
    int64_t *i;    /* nvals */
    double *value; /* nvals; NULL for a pattern */
} tsr_mm_csr;

/* False: no memory, or far more rows or columns than entries (over 2^26 and 64 times as many). */
bool tsr_mm_to_csr(tsr_mm_csr *out, const tsr_mm *m, char *error, size_t error_size);
/* The same without empty rows (row is not NULL).  False: no memory, or 2^32 rows or columns. */
bool tsr_mm_to_stored_rows(tsr_mm_csr *out, const tsr_mm *m, char *error, size_t error_size);
/* The latter where rows or columns are over 2^20 and many times the entries, else the former. */
bool tsr_mm_to_rows(tsr_mm_csr *out, const tsr_mm *m, char *error, size_t error_size);
void tsr_mm_csr_free(tsr_mm_csr *csr);

#endif
