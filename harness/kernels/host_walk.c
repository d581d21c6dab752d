/* Walk on the host: the loop that cuts lines into pieces. */
#include "harness/kernels/host_walk.h"

/* A number of whole lines, or a part of one: what a thread takes at a time. */
struct walk_range {
    int64_t line, line_end;
    int64_t begin, end; /* within each line */
};

/* The next line's offsets from those of this one. */
static void walk_advance(const struct walk *walk, int64_t index[TENSOR_RANK_MAXIMUM], int64_t offsets[WALK_TENSORS])
{
    for (int d = walk->rank - 2; d >= 0; d--) {
        index[d]++;
        for (int t = 0; t < walk->tensor_count; t++) {
            offsets[t] += walk->stride[t][d];
        }
        if (index[d] < walk->size[d]) {
            return;
        }
        for (int t = 0; t < walk->tensor_count; t++) {
            offsets[t] -= walk->stride[t][d] * walk->size[d];
        }
        index[d] = 0;
    }
}

static void walk_range_run(const struct walk *walk, struct walk_range range, walk_function *function, void *context)
{
    int64_t index[TENSOR_RANK_MAXIMUM] = {0};
    int64_t offsets[WALK_TENSORS] = {0};
    walk_line(walk, range.line, offsets);
    int64_t rest = range.line;
    for (int d = walk->rank - 2; d >= 0; d--) {
        index[d] = rest % walk->size[d];
        rest /= walk->size[d];
    }
    for (int64_t line = range.line; line < range.line_end; line++) {
        struct walk_piece piece = {.first = line * walk->line_length + range.begin, .count = range.end - range.begin};
        for (int t = 0; t < walk->tensor_count; t++) {
            piece.offset[t] = offsets[t] + range.begin * walk_step(walk, t);
        }
        function(context, walk, &piece);
        walk_advance(walk, index, offsets);
    }
}

void host_walk_run(const struct walk *walk, walk_function *function, void *context)
{
    int64_t length = walk->line_length;
    if (length == 0 || walk->line_count == 0) {
        return;
    }
    int64_t cuts = (length + SPAN_ELEMENTS - 1) / SPAN_ELEMENTS;         /* parts of a line */
    int64_t batch = length < SPAN_ELEMENTS ? SPAN_ELEMENTS / length : 1; /* lines taken together */
    int64_t batches = (walk->line_count + batch - 1) / batch;
    HOST_PARALLEL_FOR(walk->line_count * length >= PARALLEL_ELEMENTS)
    for (int64_t item = 0; item < batches * cuts; item++) {
        struct walk_range range = {.line = item / cuts * batch, .begin = item % cuts * SPAN_ELEMENTS};
        range.line_end = range.line + batch < walk->line_count ? range.line + batch : walk->line_count;
        range.end = range.begin + SPAN_ELEMENTS < length ? range.begin + SPAN_ELEMENTS : length;
        walk_range_run(walk, range, function, context);
    }
}
