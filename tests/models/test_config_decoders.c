/* Reading configurations of Qwen3, Phi-3, Gemma and GPT-NeoX: defaults of the real classes, which layers have a window,
 * and wrong values by their messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/config/config.h"
#include "models/config/family.h"
#include "tests/models/config_text.h"
#include "tests/support/scratch_file.h"

static void defaults_are_those_of_the_classes(void **state)
{
    (void)state;
    struct config qwen3 = config_of("{\"model_type\": \"qwen3\"}");
    assert_int_equal(qwen3.head_dim, 128);
    assert_int_equal(qwen3.kv_heads, 32);
    assert_true(qwen3.head_norms && !qwen3.attention_bias && qwen3.sliding_window == 0);
    struct config phi3 = config_of("{\"model_type\": \"phi3\"}");
    assert_int_equal(phi3.pad_token, 32000);
    assert_int_equal(phi3.rotary_dim, 96);
    assert_int_equal(phi3.sliding_window, 0);
    assert_null(phi3.only_loads.cause);
    assert_non_null(config_of("{\"model_type\": \"phi3\", \"rope_scaling\": {\"type\": \"su\"}}").only_loads.cause);
    assert_non_null(
        config_of("{\"model_type\": \"phi3\", \"rope_parameters\": {\"rope_type\": \"longrope\"}}").only_loads.cause);
    struct config gemma = config_of("{\"model_type\": \"gemma\", \"hidden_act\": \"gelu\"}");
    assert_int_equal(gemma.activation, ACTIVATION_GELU_TANH);
    assert_true(gemma.tied_head && gemma.score_cap == 0 && gemma.attention_scale == 0);
    struct config gemma2 = config_of("{\"model_type\": \"gemma2\"}");
    assert_true(gemma2.score_cap == 50 && gemma2.logit_cap == 30 && gemma2.attention_scale == 1.0 / 16);
    struct config gemma3 = config_of("{\"model_type\": \"gemma3_text\"}");
    assert_true(gemma3.rope_theta == 1e6 && gemma3.rope_local_theta == 1e4 && gemma3.logit_cap == 0);
    struct config neox = config_of("{\"model_type\": \"gpt_neox\"}");
    assert_int_equal(neox.rotary_dim, 24);
    assert_true(neox.parallel_residual && neox.attention_bias && !neox.tied_head);
}

static void layers_have_the_windows_of_the_classes(void **state)
{
    static const struct {
        const char *text, *layers; /* w: with a window */
        int64_t window;
    } rows[] = {
        {"{\"model_type\": \"gemma2\", \"num_hidden_layers\": 5}", "w-w-w", 4096},
        {"{\"model_type\": \"gemma3_text\", \"num_hidden_layers\": 7, \"sliding_window\": 512}", "wwwww-w", 512},
        {"{\"model_type\": \"gemma3_text\", \"num_hidden_layers\": 4, \"sliding_window_pattern\": 2}", "w-w-", 4096},
        {"{\"model_type\": \"gemma3_text\", \"num_hidden_layers\": 2, \"layer_types\": [\"full_attention\", "
         "\"sliding_attention\"]}",
         "-w", 4096},
        {"{\"model_type\": \"gemma2\", \"num_hidden_layers\": 1, \"layer_types\": [\"full_attention\"]}", "-", 0},
        {"{\"model_type\": \"mistral\", \"num_hidden_layers\": 3}", "www", 4096},
        {"{\"model_type\": \"phi3\", \"num_hidden_layers\": 2, \"sliding_window\": 2047}", "ww", 2047},
        {"{\"model_type\": \"qwen3\", \"num_hidden_layers\": 4, \"sliding_window\": 64}", "----", 0},
        {"{\"model_type\": \"qwen3\", \"num_hidden_layers\": 4, \"use_sliding_window\": true, \"sliding_window\": 64, "
         "\"max_window_layers\": 3}",
         "---w", 64},
        {"{\"model_type\": \"qwen2\", \"num_hidden_layers\": 4, \"use_sliding_window\": true}", "----", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config = config_of(rows[i].text);
        assert_int_equal(config.layers, strlen(rows[i].layers));
        assert_int_equal(config.sliding_window, rows[i].window);
        for (int64_t k = 0; k < config.layers; k++) {
            assert_int_equal(config_layer_slides(&config, k), rows[i].layers[k] == 'w');
        }
    }
}

static void what_is_wrong_is_told(void **state)
{
    static const struct {
        const char *text, *message; /* from the key on */
    } rows[] = {
        {"{\"model_type\": \"gemma2\", \"num_hidden_layers\": 2, \"layer_types\": [\"full_attention\"]}",
         "layer_types: it is not a list of 2 types; write one for each layer"},
        {"{\"model_type\": \"gemma2\", \"num_hidden_layers\": 1, \"layer_types\": [\"chunked\"]}",
         "layer_types: 'chunked' is not modelled; known are full_attention, sliding_attention"},
        {"{\"model_type\": \"gemma\", \"use_bidirectional_attention\": true}",
         "use_bidirectional_attention: true is not modelled; set it to false, or take another model"},
        {"{\"model_type\": \"gemma\", \"num_key_value_heads\": null}",
         "num_key_value_heads: null is not a whole number; write one from 1 to 1099511627776"},
        {"{\"model_type\": \"gemma3_text\", \"head_dim\": 15}",
         "head_dim: 15 is odd; rotary embeddings need an even size of a head"},
        {"{\"model_type\": \"phi3\", \"rope_scaling\": {\"type\": \"dynamic\"}}",
         "rope_scaling: rotary tables of type 'dynamic' are not modelled; known are default and longrope"},
        {"{\"model_type\": \"gpt_neox\", \"rotary_pct\": 0.01}",
         "rotary_pct: it turns 0 of the 96 elements of a head; write a part that makes an even number, 2 or more"},
        {"{\"model_type\": \"gpt_neox\", \"num_attention_heads\": 7}",
         "num_attention_heads: 7 heads do not divide the hidden size 6144; write a number of heads that does"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config = {.hidden = -7};
        struct status error = {0};
        assert_int_equal(text_read(rows[i].text, &config, &error), STATUS_INVALID);
        const char *found = strstr(error.text, rows[i].message);
        if (found == NULL || strcmp(found, rows[i].message) != 0) {
            fail_msg("%s, not %s", error.text, rows[i].message);
        }
        assert_int_equal(config.hidden, -7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_classes),
        cmocka_unit_test(layers_have_the_windows_of_the_classes),
        cmocka_unit_test(what_is_wrong_is_told),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
