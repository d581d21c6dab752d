/* Checks of shapes: attention, its masks and its biases. */
#include <stddef.h>

#include "harness/kernels/call_check_shape.h"

const char *attention_mask_check(const struct operation_call *call)
{
    const struct tensor *seen = call->input_count > 0 ? &call->tensors[0] : NULL;
    const struct tensor *out = &call->tensors[call->input_count];
    return shapes_verdict(
        out->rank == 4 && out->size[1] == 1 &&
        (seen == NULL || (seen->rank == 2 && out->size[0] == seen->size[0] && out->size[3] == seen->size[1])));
}

/* At least one exact bucket in each direction, and distances beyond it. */
const char *position_buckets_check(const struct operation_call *call)
{
    const int64_t *i = call->attributes.i;
    int64_t exact = i[3] == 1 ? i[1] / 4 : i[1] / 2;
    bool fit = call->tensors[0].rank == 2;
    return !fit ? shapes_wrong : exact >= 1 && i[2] > exact && i[0] >= 0 ? NULL : attributes_wrong;
}

/* Equal but for the last size: keys and values, queries and the output. */
static bool heads_agree(const struct tensor *a, const struct tensor *b, int64_t width)
{
    return b->rank == 4 && a->size[0] == b->size[0] && a->size[1] == b->size[1] && a->size[2] == b->size[2] &&
           b->size[3] == width;
}

static bool attention_fits(const struct tensor *q, const struct tensor *k, const struct tensor *v)
{
    bool fit = q->rank == 4 && k->rank == 4 && heads_agree(k, v, v->size[3]) && q->size[0] == k->size[0];
    fit = fit && q->size[3] == k->size[3] && k->size[1] > 0 && q->size[1] % k->size[1] == 0;
    return fit && (q->stride[3] == 1 || q->size[3] < 2) && (k->stride[3] == 1 || k->size[3] < 2) &&
           (v->stride[3] == 1 || v->size[3] < 2);
}

static bool mask_fits(const struct tensor *mask, const struct tensor *q, const struct tensor *k)
{
    return mask->rank == 4 && mask->size[0] == q->size[0] && (mask->size[1] == 1 || mask->size[1] == q->size[1]) &&
           mask->size[2] == q->size[2] && mask->size[3] == k->size[2];
}

enum { PARTS_MAXIMUM = 65536 };

/* The scratch of parts: a row of it for each row of q. */
static bool parts_fit(const struct tensor *sums, const struct tensor *parts, const struct tensor *q,
                      const struct tensor *k, const struct tensor *v)
{
    bool packs = q->size[2] == 1 && q->size[1] > k->size[1];
    bool fit = sums->rank == 4 && parts->rank == 5 && sums->size[0] > 0 && sums->size[0] <= PARTS_MAXIMUM &&
               sums->size[1] == q->size[0] && sums->size[2] == (packs ? k->size[1] : q->size[1]) &&
               sums->size[3] == (packs ? q->size[1] / k->size[1] : q->size[2]) && parts->size[4] >= v->size[3];
    for (int d = 0; d < 4; d++) {
        fit = fit && sums->size[d] == parts->size[d];
    }
    return fit;
}

const char *attention_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool gradient_of_bias = call->opcode == OPCODE_ATTENTION_BIAS_GRADIENT;
    bool backward = call->opcode == OPCODE_ATTENTION_BACKWARD || gradient_of_bias;
    bool in_parts = call->opcode == OPCODE_ATTENTION_IN_PARTS;
    int first = backward ? 1 : 0; /* q, k, v */
    int base = backward ? 6 : 3;  /* inputs without the mask */
    const struct tensor *q = &t[first], *k = &t[first + 1], *v = &t[first + 2];
    const struct tensor *lse = &t[backward ? 5 : call->input_count + 1];
    bool fit = attention_fits(q, k, v);
    bool left_out = !backward && lse->size[2] == 0;
    fit = fit && lse->rank == 3 && lse->size[0] == q->size[0] && lse->size[1] == q->size[1] &&
          (left_out || lse->size[2] >= q->size[2]);
    fit = fit && (in_parts ? parts_fit(&t[3], &t[4], q, k, v) : call->input_count == base || mask_fits(&t[base], q, k));
    int outs = call->input_count;
    fit =
        fit && heads_agree(q, &t[backward ? 0 : outs], v->size[3]) && (!backward || heads_agree(q, &t[4], v->size[3]));
    if (gradient_of_bias) {
        fit = fit && mask_fits(&t[outs], q, k) && t[outs].size[1] == q->size[1];
    } else if (backward) {
        fit = fit && shapes_equal(&t[outs], q) && shapes_equal(&t[outs + 1], k) && shapes_equal(&t[outs + 2], v);
    }
    double probability = call->attributes.f[1];
    if (fit && probability > 0.0 && k->size[2] >= (int64_t)1 << 26) {
        return "attention drops out of fewer than 2^26 columns"; /* its counters step within 32 bits in a tile */
    }
    return !fit ? shapes_wrong : probability >= 0.0 && probability <= 1.0 ? NULL : attributes_wrong;
}
