/* Record multiplier: text is cut at what varies, and put together again. Not a parser: it knows how the program
 * writes. */
#include "tests/support/record_multiplier.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEMPLATE_MAXIMUM = 64, PIECE_MAXIMUM = 2048, DIGITS_MINIMUM = 5 };

enum what { WHAT_TEXT, WHAT_ID, WHAT_BATCH, WHAT_SIZE, WHAT_STATUS };

/* Text up to what is varied, then its old value. */
struct piece {
    const char *text;
    size_t length;
    enum what what;
    long long value;
};

struct template
{
    char *line;
    struct piece pieces[PIECE_MAXIMUM];
    int piece_count;
};

struct multiplier {
    const struct multiplication *how;
    char *run, *end;
    struct template *templates[TEMPLATE_MAXIMUM];
    int template_count;
};

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void piece_add(struct template *made, const char *from, const char *to, enum what what, long long value)
{
    if (made->piece_count < PIECE_MAXIMUM) {
        made->pieces[made->piece_count++] =
            (struct piece){.text = from, .length = (size_t)(to - from), .what = what, .value = value};
    }
}

/* A whole number of a size at `at`, which follows ": "; 0: none. */
static size_t size_digits(const char *at)
{
    size_t digits = strspn(at, "0123456789");
    return digits >= DIGITS_MINIMUM && (at[digits] == ',' || at[digits] == '}') ? digits : 0;
}

static void template_cut(struct template *made)
{
    static const char id[] = "\"id\": \"", batch[] = "\"batch\": ", status[] = "\"status\": \"";
    const char *from = made->line, *at = made->line;
    while (*at != '\0') {
        size_t passed = 1, length = 0;
        enum what what = WHAT_TEXT;
        if (starts(at, id)) {
            passed = strlen(id) + strcspn(at + strlen(id), "\"");
            what = WHAT_ID;
        } else if (starts(at, batch) && isdigit((unsigned char)at[strlen(batch)])) {
            passed = strlen(batch);
            length = strspn(at + passed, "0123456789");
            what = WHAT_BATCH;
        } else if (starts(at, status)) {
            passed = strlen(status);
            length = strcspn(at + passed, "\"");
            what = WHAT_STATUS;
        } else if (starts(at, ": ") && size_digits(at + 2) > 0) {
            passed = 2;
            length = size_digits(at + 2);
            what = WHAT_SIZE;
        }
        at += passed;
        if (what != WHAT_TEXT) {
            piece_add(made, from, at, what, strtoll(at, NULL, 10));
            at += length;
            from = at;
        }
    }
    piece_add(made, from, at, WHAT_TEXT, 0);
}

/* The same length, so it is done in place. */
static void device_measure(char *line)
{
    for (char *at = line; (at = strstr(at, "\"kind\": \"meta\"")) != NULL;) {
        memcpy(at, "\"kind\": \"host\"", strlen("\"kind\": \"host\""));
    }
}

static bool template_take(struct multiplier *multiplier, const char *line)
{
    char *copy = strdup(line);
    if (copy == NULL) {
        return false;
    }
    if (starts(line, "{\"type\": \"case\"") && multiplier->template_count < TEMPLATE_MAXIMUM) {
        struct template *made = calloc(1, sizeof *made);
        if (made == NULL) {
            free(copy);
            return false;
        }
        if (multiplier->how->measured) {
            device_measure(copy);
        }
        made->line = copy;
        template_cut(made);
        multiplier->templates[multiplier->template_count++] = made;
        return true;
    }
    char **kept = starts(line, "{\"type\": \"run\"") ? &multiplier->run : &multiplier->end;
    free(*kept);
    *kept = copy;
    return true;
}

static bool templates_read(struct multiplier *multiplier, const char *path)
{
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen(path, "re");
    bool made = file != NULL;
    while (made && getline(&line, &capacity, file) > 0) {
        made = template_take(multiplier, line);
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return made && multiplier->run != NULL && multiplier->end != NULL && multiplier->template_count > 0;
}

static bool is_due(int every, int number)
{
    return every > 0 && number % every == every - 1;
}

/* number: which line this is; variant: of which case, the same for attempts at one case. */
static void line_write(FILE *file, const struct multiplication *how, const struct template *from, int number,
                       int variant)
{
    long long more = (long long)((variant * 7919LL) % 100003) * 512;
    for (int at = 0; at < from->piece_count; at++) {
        const struct piece *piece = &from->pieces[at];
        fwrite(piece->text, 1, piece->length, file);
        switch (piece->what) {
        case WHAT_TEXT:
            break;
        case WHAT_ID:
            fprintf(file, "/v%d", variant);
            break;
        case WHAT_BATCH:
            fprintf(file, "%lld", piece->value + variant % 97);
            break;
        case WHAT_SIZE:
            fprintf(file, "%lld", piece->value + more);
            break;
        case WHAT_STATUS: {
            const char *old = piece->text + piece->length;
            fprintf(file, "%.*s", is_due(how->fail, number) || is_due(how->skip, number) ? 0 : (int)strcspn(old, "\""),
                    old);
            fputs(is_due(how->skip, number) ? "skip" : is_due(how->fail, number) ? "fail" : "", file);
            break;
        }
        }
    }
}

static void lines_write(const struct multiplier *multiplier, FILE *file)
{
    const struct multiplication *how = multiplier->how;
    int runs = how->runs > 0 ? how->runs : 1, variant = 0;
    for (int run = 0, number = 0; run < runs; run++) {
        fputs(multiplier->run, file);
        for (; number < (int)((long long)how->count * (run + 1) / runs); number++) {
            variant = is_due(how->repeat, number) ? variant : number;
            line_write(file, how, multiplier->templates[variant % multiplier->template_count], number, variant);
        }
        fputs(multiplier->end, file);
    }
}

bool records_multiply(const char *template_path, const char *path, const struct multiplication *how)
{
    struct multiplier multiplier = {.how = how};
    bool made = templates_read(&multiplier, template_path);
    FILE *file = made ? fopen(path, "we") : NULL;
    if (file != NULL) {
        lines_write(&multiplier, file);
        made = ferror(file) == 0;
        made = fclose(file) == 0 && made;
    }
    for (int at = 0; at < multiplier.template_count; at++) {
        free(multiplier.templates[at]->line);
        free(multiplier.templates[at]);
    }
    free(multiplier.run);
    free(multiplier.end);
    return made && file != NULL;
}
