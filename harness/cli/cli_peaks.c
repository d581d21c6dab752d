/* assay peaks: the peak of each stage along a batch, a sequence or new tokens, and the sizes at which the highest
 * moves. Touches no device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/base/size.h"
#include "harness/cli/case_options.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_case.h"
#include "harness/cli/question_progress.h"
#include "harness/question/limit.h"
#include "harness/question/peak_stage.h"
#include "models/workload/workload_fit.h"

static const struct option_row options[] = {
    {"over", OPTION_LIST, "FIELD=A..B", "batch, seq or new-tokens; with two: for each power of two of the first"},
    QUESTION_DEVICE_ROWS,
    CASE_OPTION_ROWS,
    STRICT_OPTION_ROW,
    {"for", OPTION_VALUE, "TARGET", "class of devices whose workspaces are predicted (default: sm_90)"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

enum {
    AXES_MAXIMUM = 2,
    AXIS_BYTES = 80,
    ROWS_MAXIMUM = 64,
    SIZE_MAXIMUM = 1 << 20,
    SIZE_COLUMNS = 10,
    FIGURE_COLUMNS = 13,
    WORD_COLUMNS = 10, /* two blanks and a stage */
    UNFIT_COLUMNS = 14 /* ", does not fit" */
};

struct axis_range {
    enum case_field field;
    int64_t first, last;
};

/* What is looked at, for the line on the terminal. */
struct peaks_place {
    struct question_progress progress;
    const struct axis_range *outer; /* NULL: there is one axis */
    int64_t size;                   /* of the outer one */
};

struct peaks_row {
    int64_t size; /* of the first axis; without meaning if there is one axis */
    struct stage_spans spans;
};

/* "A..B" of what was typed as word; a remedy has the option as it would be right. */
static enum status_code range_read(const char *word, const char *range, struct axis_range *axis, struct status *error)
{
    char first[AXIS_BYTES];
    const char *dots = strstr(range, "..");
    const char *key = case_field_key(axis->field);
    if (dots == NULL || dots == range || dots[2] == '\0') {
        const char *lacks = dots == NULL ? "is no range" : dots == range ? "has no beginning" : "has no end";
        return status_set(error, STATUS_INVALID, "peaks: --over %s %s; write %s=A..B, as in %s=1..64", word, lacks, key,
                          key);
    }
    const char *step = strchr(dots, ':'), *last = dots + strspn(dots, ".");
    if (step != NULL) {
        return status_set(error, STATUS_INVALID,
                          "peaks: --over %s: '%s' is too much: the sizes between are found by halving, not by a step; "
                          "write %s=%.*s",
                          word, step, key, (int)(step - range), range);
    }
    if (last > dots + 2) {
        return status_set(error, STATUS_INVALID, "peaks: --over %s has more than two points; write %s=%.*s..%s", word,
                          key, (int)(dots - range), range, last);
    }
    snprintf(first, sizeof first, "%.*s", (int)(dots - range), range);
    enum status_code code = integer_parse(first, 1, SIZE_MAXIMUM, &axis->first, error);
    code = code == STATUS_OK ? integer_parse(dots + 2, 1, SIZE_MAXIMUM, &axis->last, error) : code;
    if (code != STATUS_OK) {
        status_prefix(error, "peaks: --over %s", word);
    } else if (axis->first > axis->last) {
        code = status_set(error, STATUS_INVALID, "peaks: --over %s ends before it begins; write %s=%s..%s", word, key,
                          dots + 2, first);
    }
    return code;
}

/* The field whose key or option the first length characters of word are; false: there is none. */
static bool field_named(const char *word, size_t length, enum case_field *field)
{
    static const enum case_field fields[] = {FIELD_BATCH, FIELD_SEQ, FIELD_NEW_TOKENS};
    char name[AXIS_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (name_distance(name, case_field_key(fields[i])) == 0) { /* in any case, with '-' or '_' */
            *field = fields[i];
            return true;
        }
    }
    return false;
}

static enum status_code axis_read(const struct arguments *arguments, const char *word, struct axis_range *axis,
                                  struct status *error)
{
    size_t length = strcspn(word, "=");
    if (word[length] != '=' || !field_named(word, length, &axis->field)) {
        return status_set(error, STATUS_INVALID, "peaks: --over '%s'%s; write batch=A..B, seq=A..B or new-tokens=A..B",
                          word, word[length] != '=' ? " has no '=' behind a field" : ": there is no such field");
    }
    const char *key = case_field_key(axis->field);
    return arguments_value(arguments, key) == NULL
               ? range_read(word, word + length + 1, axis, error)
               : status_set(error, STATUS_INVALID, "peaks: --over gives %s a range; leave the option out", key);
}

/* The ranges as they stand: words, or parts of one between commas. How many; of more than AXES_MAXIMUM only that. */
static int axis_words_split(const struct arguments *arguments, char words[AXES_MAXIMUM][AXIS_BYTES])
{
    int count = 0;
    for (int i = 0; i < arguments->list_count; i++) {
        for (const char *word = arguments->list[i]; word != NULL; count++) {
            const char *comma = strchr(word, ',');
            int length = (int)(comma != NULL ? comma - word : (ptrdiff_t)strlen(word));
            if (count < AXES_MAXIMUM) {
                snprintf(words[count], AXIS_BYTES, "%.*s", length, word);
            }
            word = comma != NULL ? comma + 1 : NULL;
        }
    }
    return count;
}

static enum status_code axes_read(const struct arguments *arguments, struct axis_range *axes, int *axis_count,
                                  struct status *error)
{
    char words[AXES_MAXIMUM][AXIS_BYTES];
    int count = axis_words_split(arguments, words);
    if (count == 0) {
        return status_set(error, STATUS_INVALID,
                          "peaks: --over is missing; add --over seq=128..4096, or --over batch=1..64 "
                          "seq=128..4096");
    }
    if (count > AXES_MAXIMUM) {
        return status_set(error, STATUS_INVALID,
                          "peaks: --over has %d ranges; give one or two, as in --over "
                          "batch=1..64 seq=128..4096",
                          count);
    }
    enum status_code code = STATUS_OK;
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        code = axis_read(arguments, words[i], &axes[i], error);
    }
    *axis_count = count;
    if (code == STATUS_OK && count == 2 && axes[0].field == axes[1].field) {
        code = status_set(error, STATUS_INVALID, "peaks: --over has two ranges of %s; leave one out",
                          case_field_key(axes[0].field));
    }
    return code;
}

static void look_show(void *context, enum case_field field, int64_t size)
{
    struct peaks_place *place = context;
    const char *key = case_field_key(field);
    if (place->outer == NULL) {
        question_progress_show(&place->progress, "%s %" PRId64 " is replayed", key, size);
    } else {
        question_progress_show(&place->progress, "%s %" PRId64 " of %" PRId64 ", %s %" PRId64 " is replayed",
                               case_field_key(place->outer->field), place->size, place->outer->last, key, size);
    }
}

/* One row for each power of two of the first axis, its ends included; of one axis a single row. */
static enum status_code rows_find(const struct question_case *question, const struct axis_range *axes, int axis_count,
                                  struct peaks_row *rows, int *row_count, struct status *error)
{
    const struct axis_range *outer = &axes[0], *inner = &axes[axis_count - 1];
    struct estimate_input input = question->input;
    enum status_code code = STATUS_OK;
    int64_t size = axis_count == 2 ? outer->first : 0;
    struct peaks_place place = {.progress = {.command = "peaks"}, .outer = axis_count == 2 ? outer : NULL};
    const struct look_observer observer = {look_show, &place};
    for (*row_count = 0; code == STATUS_OK && *row_count < ROWS_MAXIMUM; (*row_count)++) {
        struct workload workload = *question->input.workload;
        workload = axis_count == 2 ? limit_workload(&workload, outer->field, size) : workload;
        input.workload = &workload;
        rows[*row_count].size = size;
        place.size = size;
        code = stage_spans_find(&input, inner->field, (int64_t[]){inner->first, inner->last}, &observer,
                                &rows[*row_count].spans, error);
        question_progress_end(&place.progress);
        if (axis_count == 1 || size == outer->last) {
            (*row_count)++;
            return code;
        }
        size = size > outer->last / 2 ? outer->last : size * 2;
    }
    return code;
}

/* Generation's stages by the names that people give them. */
static const char *stage_word(const struct question_case *question, enum stage stage)
{
    bool generates = question->input.workload->mode == MODE_GENERATE;
    return generates && stage == STAGE_FORWARD    ? "prefill"
           : generates && stage == STAGE_GENERATE ? "decode"
                                                  : stage_name(stage);
}

static void point_line(const struct question_case *question, const struct stage_point *point, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    text_format(text, "%*" PRId64, SIZE_COLUMNS, point->size);
    for (int i = STAGE_LOAD; i < STAGE_COUNT; i++) {
        if (point->present[i]) {
            text_format(text, "%*s", FIGURE_COLUMNS, size_format(point->allocated_bytes[i], size));
        }
    }
    text_format(text, "  %s%s\n", stage_word(question, point->stage), point->fits ? "" : ", does not fit");
}

/* The highest stage, and below it the others: if the terminal has no room for a column each. */
static void point_lines_narrow(const struct question_case *question, const struct stage_point *point, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const char *separator = "";
    text_format(text, "%*" PRId64 "  %s %s%s\n%*s", SIZE_COLUMNS, point->size, stage_word(question, point->stage),
                size_format(point->allocated_bytes[point->stage], size), point->fits ? "" : ", does not fit",
                SIZE_COLUMNS + 2, "");
    for (int i = STAGE_LOAD; i < STAGE_COUNT; i++) {
        if (point->present[i] && i != (int)point->stage) {
            text_format(text, "%s%s %s", separator, stage_word(question, (enum stage)i),
                        size_format(point->allocated_bytes[i], size));
            separator = ", ";
        }
    }
    text_append(text, "\n");
}

/* Whether every line with its columns is within the terminal. */
static bool has_room(const struct stage_spans *spans)
{
    const struct stage_point *first = &spans->spans[0].first;
    int columns = SIZE_COLUMNS + WORD_COLUMNS;
    for (int i = STAGE_LOAD; i < STAGE_COUNT; i++) {
        columns += first->present[i] ? FIGURE_COLUMNS : 0;
    }
    for (int i = 0; i < spans->count; i++) {
        if (!spans->spans[i].last.fits || !spans->spans[i].first.fits) {
            return columns + UNFIT_COLUMNS <= table_width();
        }
    }
    return columns <= table_width();
}

static void spans_lines(const struct question_case *question, const struct stage_spans *spans, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const struct stage_point *first = &spans->spans[0].first;
    const bool wide = has_room(spans);
    void (*const write)(const struct question_case *, const struct stage_point *, struct text *) =
        wide ? point_line : point_lines_narrow;
    text_format(text, "%*s", SIZE_COLUMNS, case_field_key(spans->field));
    for (int i = STAGE_LOAD; i < STAGE_COUNT && wide; i++) {
        if (first->present[i]) {
            text_format(text, "%*s", FIGURE_COLUMNS, stage_word(question, (enum stage)i));
        }
    }
    text_append(text, "  highest\n");
    for (int i = 0; i < spans->count; i++) {
        write(question, &spans->spans[i].first, text);
        if (spans->spans[i].last.size != spans->spans[i].first.size) {
            write(question, &spans->spans[i].last, text);
        }
    }
    if (spans->step_known) {
        text_format(text, "\nthe last step adds %s (%" PRId64 " bytes) of tensors at the peak\n",
                    size_format(spans->step_bytes, size), spans->step_bytes);
    }
}

static void grid_lines(const struct question_case *question, const struct axis_range *axes,
                       const struct peaks_row *rows, int row_count, struct text *text)
{
    text_format(text, "%*s  highest stage by %s\n", SIZE_COLUMNS, case_field_key(axes[0].field),
                case_field_key(axes[1].field));
    for (int i = 0; i < row_count; i++) {
        const struct stage_spans *spans = &rows[i].spans;
        text_format(text, "%*" PRId64 " ", SIZE_COLUMNS, rows[i].size);
        for (int k = 0; k < spans->count; k++) {
            const struct stage_span *span = &spans->spans[k];
            text_format(text, "%s %s %" PRId64 "..%" PRId64 "%s", k > 0 ? "," : "",
                        stage_word(question, span->last.stage), span->first.size, span->last.size,
                        span->last.fits    ? ""
                        : span->first.fits ? " (the last does not fit)"
                                           : " (does not fit)");
        }
        text_append(text, "\n");
    }
}

static struct json *point_json(const struct stage_point *point, bool is_bounded)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "size", json_integer_new(point->size)) &&
                json_set(object, "fits", is_bounded ? json_boolean_new(point->fits) : json_null_new());
    for (int i = STAGE_LOAD; i < STAGE_COUNT && made; i++) {
        if (point->present[i]) {
            made = json_set(object, stage_name((enum stage)i), json_integer_new(point->allocated_bytes[i]));
        }
    }
    return json_made(object, made);
}

static struct json *row_json(const struct axis_range *axes, int axis_count, const struct peaks_row *row,
                             bool is_bounded)
{
    struct json *object = json_object_new();
    struct json *list = json_array_new();
    bool made = list != NULL;
    if (axis_count == 2) {
        made = made && json_set(object, case_field_key(axes[0].field), json_integer_new(row->size));
    }
    for (int i = 0; i < row->spans.count && made; i++) {
        const struct stage_span *span = &row->spans.spans[i];
        struct json *one = json_object_new();
        bool written = json_set(one, "stage", json_string_new(stage_name(span->last.stage))) &&
                       json_set(one, "first", point_json(&span->first, is_bounded)) &&
                       json_set(one, "last", point_json(&span->last, is_bounded));
        made = json_append(list, json_made(one, written));
    }
    made = made && json_set(object, "spans", json_share(list)) &&
           json_set(object, "last_step_bytes",
                    row->spans.step_known ? json_integer_new(row->spans.step_bytes) : json_null_new());
    json_release(list);
    return json_made(object, made);
}

static enum status_code json_print(const struct question_case *question, const struct axis_range *axes, int axis_count,
                                   const struct peaks_row *rows, int row_count, struct status *error)
{
    struct json *document = json_object_new();
    struct json *list = json_array_new();
    bool made = question_case_set(question, document) &&
                json_set(document, "over", json_string_new(case_field_key(axes[axis_count - 1].field))) &&
                json_set(document, "rows", json_share(list));
    for (int i = 0; i < row_count && made; i++) {
        made = json_append(list, row_json(axes, axis_count, &rows[i], question->memory_bytes > 0));
    }
    enum status_code code = output_json(made ? document : NULL, error);
    json_release(list);
    json_release(document);
    return code;
}

/* The sizes that are asked about. */
struct axes {
    struct axis_range ranges[AXES_MAXIMUM];
    int count;
};

static enum status_code peaks_print(const struct question_case *question, const struct axes *asked, bool as_json,
                                    struct peaks_row *rows, struct status *error)
{
    const struct axis_range *axes = asked->ranges;
    int axis_count = asked->count, row_count = 0;
    enum status_code code = rows_find(question, axes, axis_count, rows, &row_count, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (as_json) {
        return json_print(question, axes, axis_count, rows, row_count, error);
    }
    struct text text = {0};
    question_case_heading(question, &text);
    question_bound_line(question, &text);
    if (axis_count == 1) {
        spans_lines(question, &rows[0].spans, &text);
    } else {
        grid_lines(question, axes, rows, row_count, &text);
    }
    code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static enum status_code peaks_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    (void)exit_code;
    struct question_case question;
    struct axes axes = {0};
    enum status_code code = axes_read(arguments, axes.ranges, &axes.count, error);
    code = code == STATUS_OK ? question_case_open(arguments, &question, error) : code;
    if (code != STATUS_OK) {
        return code;
    }
    error->spelling = STATUS_SPELLING_KEYS;                     /* --over has fields by their keys */
    for (int i = 0; i < axes.count && code == STATUS_OK; i++) { /* the id names the largest case */
        const struct axis_range *range = &axes.ranges[i];
        code = limit_field_check(&question.input, range->field, error);
        question.identity.workload = limit_workload(&question.identity.workload, range->field, range->last);
    }
    if (code == STATUS_OK) {
        code = workload_fit_check(question.input.config, &question.identity.workload, true, error);
    }
    if (code == STATUS_OK) {
        question_positions_note(arguments, &question);
        question.input.memory_bytes = question_segment_bytes(&question);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "peaks: --over");
    }
    struct peaks_row *rows = calloc(ROWS_MAXIMUM, sizeof *rows);
    if (rows == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the peaks");
    }
    bool as_json = arguments_value(arguments, "json") != NULL;
    code = code == STATUS_OK ? peaks_print(&question, &axes, as_json, rows, error) : code;
    free(rows);
    question_case_close(&question);
    return code;
}

const struct command command_peaks = {
    .name = "peaks",
    .operands = "MODEL",
    .summary = "which stage needs the most, and at which size that changes",
    .details = "The table has the peak of allocated bytes of each stage (of prefill and decoding, if the case\n"
               "generates), at both ends of each range of sizes in which the same stage is the highest. Both ends\n"
               "were replayed: a stage is the highest up to its last size, another one from the next size on.\n"
               "Sizes between are searched by doubling and halving.\n"
               "\n"
               "--on and --memory say of each size that is shown whether it fits; assay limit finds the largest\n"
               "that does.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = peaks_run,
};
