/* Limit: a search over sizes, each judged by a trial. Which sizes a model has is asked of the model; how many bytes
 * there are is the caller's. */
#include "harness/question/limit.h"

#include <stdio.h>

#include "models/workload/generate.h"

static const int64_t size_beyond = INT64_C(1) << 40;

/* For new tokens beyond the limit, only the next size is replayed, with the bound and without: a replay takes seconds,
 * and tensors exceed the memory only some thousand tokens further up. */
enum { LONG_TOKENS = 4096 };

enum outcome { OUTCOME_FITS, OUTCOME_REFUSED, OUTCOME_ABSENT };

struct point {
    int64_t size;
    enum outcome outcome;
    bool sized; /* the trial holds figures */
    struct trial trial;
    char reason[LIMIT_REASON_BYTES];
};

struct search {
    const struct estimate_input *input;
    enum case_field field;
    int64_t memory_bytes;
    int64_t maximum; /* size_beyond, if nothing bounds it */
    const struct look_observer *observer;
    bool begins_only; /* sizes are judged by their beginning */
    int count, whole_count;
};

struct workload limit_workload(const struct workload *workload, enum case_field field, int64_t size)
{
    struct workload changed = *workload;
    *(field == FIELD_BATCH ? &changed.batch : field == FIELD_SEQ ? &changed.seq : &changed.new_tokens) = size;
    return changed;
}

/* What the positions of the model allow. */
static int64_t positions_maximum(const struct config *config, const struct workload *workload, enum case_field field)
{
    if (config->positions <= 0 || field == FIELD_BATCH) {
        return size_beyond;
    }
    bool generates = workload->mode == MODE_GENERATE; /* the last token is chosen, not read */
    int64_t other = !generates ? 0 : field == FIELD_SEQ ? workload->new_tokens - 1 : workload->seq - 1;
    return config->positions - other;
}

int64_t limit_maximum(const struct config *config, const struct workload *workload, enum case_field field)
{
    int64_t positions = positions_maximum(config, workload, field);
    int64_t tokens = field == FIELD_NEW_TOKENS ? generate_tokens_maximum(config, true) : size_beyond;
    return positions < tokens ? positions : tokens;
}

static void look_tell(struct search *search, int64_t size)
{
    search->count++;
    if (search->observer != NULL) {
        search->observer->looks(search->observer->context, search->field, size);
    }
}

static enum status_code point_look_within(struct search *search, int64_t size, int64_t memory_bytes,
                                          struct point *point, struct status *error)
{
    struct workload workload = limit_workload(search->input->workload, search->field, size);
    struct estimate_input input = *search->input;
    struct status why = {0};
    input.workload = &workload;
    *point = (struct point){.size = size, .outcome = OUTCOME_REFUSED};
    if (size > positions_maximum(input.config, &workload, search->field)) {
        point->outcome = OUTCOME_ABSENT;
        snprintf(point->reason, sizeof point->reason, "the model has %lld positions",
                 (long long)input.config->positions);
        return STATUS_OK;
    }
    look_tell(search, size);
    bool is_long = search->field == FIELD_NEW_TOKENS && size > LONG_TOKENS && memory_bytes < INT64_MAX;
    enum status_code code = (search->begins_only ? trial_run_beginning
                             : is_long           ? trial_run_bounded
                                                 : trial_run)(&input, memory_bytes, &point->trial, &why);
    search->whole_count += search->begins_only || (is_long && !point->trial.fits) ? 0 : 1;
    point->sized = code == STATUS_OK;
    if (code == STATUS_OK && point->trial.fits) {
        point->outcome = OUTCOME_FITS;
    } else if (code == STATUS_INVALID) {
        point->outcome = OUTCOME_ABSENT;
    } else if (code != STATUS_OK && code != STATUS_OVERFLOW) {
        return status_copy(error, code, &why);
    }
    char line[STATUS_LINE_BYTES];
    snprintf(point->reason, sizeof point->reason, "%.*s", LIMIT_REASON_BYTES - 1, status_line(&why, line));
    return STATUS_OK;
}

static enum status_code point_look(struct search *search, int64_t size, struct point *point, struct status *error)
{
    return point_look_within(search, size, search->memory_bytes, point, error);
}

/* A size between the two: where the line meets the bound, or the middle. */
static int64_t size_between(const struct search *search, const struct point *low, const struct point *high)
{
    int64_t middle = low->size + (high->size - low->size) / 2;
    if (!high->sized || search->count % 2 == 0 || high->trial.unbounded.reserved_bytes_peak == 0) {
        return middle;
    }
    int64_t low_unbounded_bytes = low->trial.unbounded.reserved_bytes_peak;
    double low_bytes = (double)(low_unbounded_bytes > 0 ? low_unbounded_bytes : low->trial.bounded.reserved_bytes_peak);
    double rise = (double)high->trial.unbounded.reserved_bytes_peak - low_bytes;
    if (rise <= 0) {
        return middle;
    }
    double part = ((double)search->memory_bytes - low_bytes) / rise;
    double place = (double)low->size + part * (double)(high->size - low->size);
    return place <= (double)(low->size + 1)    ? low->size + 1
           : place >= (double)(high->size - 1) ? high->size - 1
                                               : (int64_t)place;
}

/* From a size that fits: doubles it until one does not. */
static enum status_code bracket_find(struct search *search, struct point *low, struct point *high, struct status *error)
{
    for (;;) {
        int64_t size = low->size <= search->maximum / 2 ? low->size * 2
                       : low->size < search->maximum    ? search->maximum
                                                        : search->maximum + 1;
        enum status_code code = point_look(search, size, high, error);
        if (code != STATUS_OK || high->outcome != OUTCOME_FITS) {
            return code;
        }
        *low = *high;
    }
}

static enum status_code bracket_close(struct search *search, struct point *low, struct point *high,
                                      struct status *error)
{
    while (high->size - low->size > 1) {
        struct point between;
        enum status_code code = point_look(search, size_between(search, low, high), &between, error);
        if (code != STATUS_OK) {
            return code;
        }
        *(between.outcome == OUTCOME_FITS ? low : high) = between;
    }
    return STATUS_OK;
}

/* Whether tensors alone are more than the memory, as far as was replayed: with the bound, up to the refusal. */
static bool tensors_exceed(const struct search *search, const struct point *point)
{
    const struct trial *trial = &point->trial;
    return trial->unbounded.requested_bytes_peak > search->memory_bytes ||
           trial->wanted_bytes > search->memory_bytes - trial->live_bytes;
}

/* Whether no size from this one on can run, and the tensors alone are why; that there is none is a reason too. Tensors
 * grow with the batch and with new tokens, but not always with the sequence: the workspaces of attention come and
 * go. */
static bool point_excludes(const struct search *search, const struct point *point)
{
    const struct workload *workload = search->input->workload;
    bool grows = search->field == FIELD_NEW_TOKENS && workload->cache == CACHE_DYNAMIC;
    return point->outcome == OUTCOME_ABSENT ||
           (point->outcome == OUTCOME_REFUSED &&
            (grows || !point->sized || (search->field != FIELD_SEQ && tensors_exceed(search, point))));
}

/* high is the size above low. Those further up are looked at until one excludes all above it, or enough in a row are
 * refused; if one runs, it is low. */
static enum status_code neighbours_look(struct search *search, struct point *low, struct point *high,
                                        struct limit *limit, struct status *error)
{
    int refused = 0;
    struct point point = *high;
    for (;;) {
        if (point.outcome == OUTCOME_FITS) {
            limit->refused_below = high->size;
            *low = point;
            refused = 0;
        } else if (refused == 0) {
            *high = point;
        }
        refused += point.outcome == OUTCOME_REFUSED ? 1 : 0;
        if (point_excludes(search, &point) || refused == LIMIT_NEIGHBOURS) {
            break;
        }
        enum status_code code = point_look(search, point.size + 1, &point, error);
        if (code != STATUS_OK) {
            return code;
        }
    }
    limit->excluded_from = point_excludes(search, &point) ? point.size : 0;
    limit->neighbour_count = refused;
    return STATUS_OK;
}

/* What the size above needs without a bound, if that was not looked at. */
static enum status_code unbounded_find(struct search *search, struct point *high, struct status *error)
{
    struct point point;
    if (high->outcome != OUTCOME_REFUSED || !high->sized || high->trial.unbounded.reserved_bytes_peak > 0) {
        return STATUS_OK;
    }
    enum status_code code = point_look_within(search, high->size, INT64_MAX, &point, error);
    high->trial.unbounded = point.trial.unbounded;
    return code;
}

bool limit_begins_alike(const struct workload *workload, enum case_field field)
{
    return field == FIELD_NEW_TOKENS && workload->cache == CACHE_DYNAMIC && workload->beams == 1;
}

/* A size of new tokens with the bound alone. */
static enum status_code tokens_look(struct search *search, int64_t size, struct trial *trial, struct status *error)
{
    struct workload workload = limit_workload(search->input->workload, search->field, size);
    struct estimate_input input = *search->input;
    input.workload = &workload;
    look_tell(search, size);
    return trial_run_bounded(&input, search->memory_bytes, trial, error);
}

/* All tokens that there may be, once, with the bound. Brings low and high together: the token that is refused is the
 * first that does not fit, and what was refused then is what is refused without those behind it. If it does not come
 * out so, they stay as they are. */
static enum status_code tokens_pass(struct search *search, struct point *low, struct point *high, struct status *error)
{
    struct point last = {.outcome = OUTCOME_FITS, .sized = true}, next = {0};
    struct trial refused;
    enum status_code code = tokens_look(search, search->maximum, &refused, error);
    if (code != STATUS_OK) {
        return code == STATUS_OVERFLOW ? STATUS_OK : code;
    }
    last.size = refused.fits ? search->maximum : refused.token_count;
    last.trial = refused;
    if (last.size <= low->size) {
        return STATUS_OK;
    }
    if (!refused.fits) {
        code = tokens_look(search, last.size, &last.trial, error);
    }
    code = code == STATUS_OK ? point_look_within(search, last.size + 1, INT64_MAX, &next, error) : code;
    if (code == STATUS_OK && last.trial.fits && refused.fits == (next.outcome == OUTCOME_ABSENT)) {
        if (!refused.fits) {
            refused.unbounded = next.trial.unbounded;
            next.trial = refused;
            next.outcome = OUTCOME_REFUSED;
        }
        *low = last;
        *high = next;
    }
    return code;
}

/* A static cache is taken whole at the first pass, so what does not fit is mostly refused there: the search asks for
 * beginnings alone. The size that it finds is then run to its end; if that is refused, it is what the search goes on
 * below of. */
static enum status_code static_cache_look(struct search *search, struct point *low, struct point *high,
                                          struct status *error)
{
    struct point first = *low, whole;
    search->begins_only = true;
    enum status_code code = bracket_find(search, low, high, error);
    code = code == STATUS_OK ? bracket_close(search, low, high, error) : code;
    search->begins_only = false;
    code = code == STATUS_OK ? point_look(search, low->size, &whole, error) : code;
    if (code == STATUS_OK && whole.outcome == OUTCOME_FITS) {
        *low = whole;
    } else if (code == STATUS_OK) {
        *low = first;
        *high = whole;
    }
    return code;
}

static void limit_note(struct limit *limit, const struct search *search, const struct point *low,
                       const struct point *high)
{
    if (low != NULL) {
        limit->size = low->size;
        limit->trial = low->trial;
    }
    limit->next = high->size;
    limit->next_exists = high->outcome != OUTCOME_ABSENT;
    limit->is_own_bound =
        !limit->next_exists &&
        high->size <= positions_maximum(search->input->config, search->input->workload, search->field) &&
        search->field == FIELD_NEW_TOKENS && high->size > generate_tokens_maximum(search->input->config, true);
    limit->next_is_sized = high->sized;
    limit->next_trial = high->trial;
    snprintf(limit->reason, sizeof limit->reason, "%s", high->reason);
}

enum status_code limit_field_check(const struct estimate_input *input, enum case_field field, struct status *error)
{
    const struct workload *workload = input->workload;
    bool absent = workload->mode == MODE_LOAD || (field == FIELD_SEQ && workload->seq == 0) ||
                  (field == FIELD_NEW_TOKENS && workload->mode != MODE_GENERATE);
    if (absent) {
        return status_set(error, STATUS_INVALID, "a case of %s in mode %s has no %s; choose another",
                          input->config->name, mode_name(workload->mode), case_field_key(field));
    }
    return STATUS_OK;
}

enum status_code limit_find(const struct estimate_input *input, enum case_field field, int64_t memory_bytes,
                            const struct look_observer *observer, struct limit *limit, struct status *error)
{
    struct search search = {.input = input,
                            .field = field,
                            .memory_bytes = memory_bytes,
                            .observer = observer,
                            .maximum = limit_maximum(input->config, input->workload, field)};
    struct limit found = {.field = field};
    struct point low = {0}, high = {0};
    enum status_code code = limit_field_check(input, field, error);
    if (code == STATUS_OK) {
        code = point_look(&search, 1, &low, error);
    }
    if (code == STATUS_OK && low.outcome == OUTCOME_ABSENT) { /* a padded batch has sequences of two and more */
        code = point_look(&search, 2, &low, error);
    }
    if (code == STATUS_OK && low.outcome == OUTCOME_ABSENT) {
        code = status_set(error, STATUS_INVALID, "%s", low.reason);
    }
    if (code == STATUS_OK && low.outcome == OUTCOME_REFUSED) {
        high = low;
        code = neighbours_look(&search, &low, &high, &found, error);
        code = code == STATUS_OK ? unbounded_find(&search, &high, error) : code;
    }
    if (code == STATUS_OK && low.outcome == OUTCOME_REFUSED) {
        limit_note(&found, &search, NULL, &high);
    } else if (code == STATUS_OK) {
        if (limit_begins_alike(input->workload, field)) {
            code = tokens_pass(&search, &low, &high, error);
        }
        if (code == STATUS_OK && field == FIELD_NEW_TOKENS && input->workload->cache == CACHE_STATIC) {
            code = static_cache_look(&search, &low, &high, error);
        }
        if (code == STATUS_OK && high.size == 0) {
            code = bracket_find(&search, &low, &high, error);
        }
        code = code == STATUS_OK ? bracket_close(&search, &low, &high, error) : code;
        code = code == STATUS_OK ? neighbours_look(&search, &low, &high, &found, error) : code;
        code = code == STATUS_OK ? unbounded_find(&search, &high, error) : code;
        limit_note(&found, &search, &low, &high);
    }
    if (code == STATUS_OK) {
        found.whole_count = search.whole_count;
        *limit = found;
    }
    return code;
}

enum status_code limit_size_find(const struct estimate_input *input, enum case_field field, int64_t memory_bytes,
                                 int64_t maximum, const struct look_observer *observer, int64_t *size,
                                 struct status *error)
{
    struct search search = {
        .input = input, .field = field, .memory_bytes = memory_bytes, .observer = observer, .maximum = maximum};
    struct trial trial = {0};
    struct limit limit = {0};
    enum status_code code = STATUS_OVERFLOW;
    if (limit_begins_alike(input->workload, field)) {
        code = tokens_look(&search, maximum, &trial, error);
        limit.size = trial.fits ? maximum : trial.token_count;
    }
    if (code == STATUS_OVERFLOW) { /* the sizes of so many tokens leave 63 bits, or it is another question */
        code = limit_find(input, field, memory_bytes, observer, &limit, error);
    }
    *size = code == STATUS_OK ? limit.size : 0;
    return code;
}
