/* llm-analysis: the activations of a pass without gradients. Its weights, latencies and costs are not here. */
#include "harness/estimate/llm_analysis.h"

#include "harness/estimate/rule_terms.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool attention_bytes(const struct inference_pass *pass, int64_t *bytes)
{
    const int64_t input[] = {3, pass->element_bytes, pass->tokens, pass->rows, pass->hidden};
    const int64_t fused[] = {pass->element_bytes, pass->tokens, pass->rows, 2 * pass->hidden + 4 * pass->heads};
    const int64_t scores[] = {2, pass->element_bytes, pass->heads, pass->tokens, pass->tokens, pass->rows};
    int64_t whole = 0, inner = 0;
    bool fits = rule_product(input, 5, &whole) &&
                (pass->scores ? rule_product(scores, 6, &inner) : rule_product(fused, 4, &inner));
    *bytes = larger(whole, inner / pass->tensor);
    return fits;
}

bool llm_analysis_activations(const struct inference_pass *pass, int64_t *bytes)
{
    const int64_t feed_forward[] = {pass->element_bytes, pass->tokens, pass->rows, larger(pass->hidden, pass->ffn)};
    const int64_t norm[] = {4, pass->tokens, pass->rows, pass->hidden};
    const int64_t logits[] = {pass->element_bytes, pass->vocab, pass->logit_rows, pass->rows};
    int64_t attention = 0, wide = 0, normed = 0, scored = 0;
    if (!attention_bytes(pass, &attention) || !rule_product(feed_forward, 4, &wide) ||
        !rule_product(norm, 4, &normed) || !rule_product(logits, 4, &scored)) {
        return false;
    }
    *bytes = larger(larger(attention, wide / pass->tensor), larger(normed, scored / pass->tensor));
    return true;
}
