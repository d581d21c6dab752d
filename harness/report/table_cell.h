/* Table cell: one typed figure or word of a table, and how people read it. What a format makes of it (escapes, colours,
 * markup) is the affair of the renderers. For this folder, and for
 * the floors above that have pages of their own (gate). */
#ifndef ASSAY_REPORT_TABLE_CELL_H
#define ASSAY_REPORT_TABLE_CELL_H

#include <stdbool.h>
#include <stdint.h>

enum { CELL_TEXT_BYTES = 64 };

enum cell_kind {
    CELL_WORD,
    CELL_QUANTITY, /* a word: "allocated_bytes_peak", for people "allocated peak" */
    CELL_FLAG,     /* number: 1 yes, 0 no */
    CELL_COUNT,
    CELL_BYTES,
    CELL_DIFFERENCE, /* of bytes, with its sign */
    CELL_SECONDS,
    CELL_RATE,      /* bytes per second */
    CELL_SPEED,     /* of anything else, per second */
    CELL_ERROR,     /* a fraction with a sign, in percent */
    CELL_SIGNED,    /* the same with three digits that count: "-12.9 %" */
    CELL_MAGNITUDE, /* the same without a sign: "12.9 %" */
    CELL_SHARE,     /* a fraction, in percent */
    CELL_PERCENT,   /* number of whole, in percent without decimals: "93 %" */
    CELL_PART,      /* number of whole: "45/61" */
    CELL_RATIO,     /* a fraction, as 0.93 */
    CELL_JUDGED,    /* the same, and what it is judged to be */
    CELL_MARK       /* a short word that stands where figures stand: "3", "5=", "few" */
};

/* What a figure is judged to be, for colours and shades. */
enum cell_tone { TONE_NONE, TONE_OVER, TONE_GOOD, TONE_SPARE };

/* What stands behind a figure of CELL_JUDGED, and what it says: "!", "too little". sign "": nothing. */
struct cell_judgement {
    enum cell_tone tone;
    const char *sign, *meaning;
};

struct cell {
    bool known;
    bool is_bad; /* stands out */
    const char *
        /* CELL_WORD, CELL_QUANTITY, CELL_MARK, raw; else for people if the figure is not known, as "oom"; NULL:
         * "-" */
        word;
    const char *after; /* in documents: raw, behind the word, and not as loud; NULL: nothing */
    union {            /* by the kind of its column */
        struct {
            int64_t number; /* CELL_FLAG, CELL_COUNT, CELL_BYTES, CELL_DIFFERENCE, CELL_PERCENT, CELL_PART */
            int64_t whole;  /* CELL_PERCENT, CELL_PART */
        };
        struct {
            double real;                            /* the others */
            const struct cell_judgement *judgement; /* CELL_JUDGED if it is known; static */
        };
    };
};

/* Cells that are known if the figure is. */
struct cell cell_word(const char *word);
struct cell cell_flag(const bool *flag); /* NULL: not known */
struct cell cell_count(int64_t count);
struct cell cell_bytes(int64_t bytes);
struct cell cell_difference(int64_t left_bytes, int64_t right_bytes); /* left - right */
struct cell cell_real(double value);                                  /* negative: not known */
struct cell cell_error(bool known, double error);
struct cell cell_part(int64_t number, int64_t whole); /* whole 0: not known */

/* Whether its cells are words, which stand to the left. */
bool cell_is_word(enum cell_kind kind);

/* A cell for people, raw: "12.00 MiB", "0.93", "-"; without the sign behind it. Returns text, or the word of the
 * cell. */
const char *cell_text(const struct cell *cell, enum cell_kind kind, char text[CELL_TEXT_BYTES]);

#endif
