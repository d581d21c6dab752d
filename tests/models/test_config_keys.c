/* Keys of a configuration, held against the real classes: peers/transformers/config_keys.py wrote what they know and
 * take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "models/config/config_keys.h"
#include "models/config/family.h"
#include "models/family/family_table.h"
#include "models/find/catalogue.h"
#include "tests/models/config_text.h"
#include "tests/support/scratch_file.h"

static const struct config_note *note_of(const struct config *config, enum config_note_kind kind, const char *key)
{
    for (int i = 0; i < config->note_count; i++) {
        if (config->notes[i].kind == kind && strcmp(config->notes[i].key, key) == 0) {
            return &config->notes[i];
        }
    }
    return NULL;
}

/* The note's text behind the name of the scratch file. */
static const char *text_of(const struct config *config, enum config_note_kind kind, const char *key)
{
    const struct config_note *note = note_of(config, kind, key);
    if (note == NULL) {
        fail_msg("no note about %s", key);
    }
    assert_int_equal(strncmp(note->text, scratch_file_path, strlen(scratch_file_path)), 0);
    return note->text + strlen(scratch_file_path);
}

static void every_type_has_its_keys(void **state)
{
    const struct family *family;
    (void)state;
    for (int i = 0; (family = family_at(i)) != NULL; i++) {
        for (const char *const *type = family->model_types; type != NULL && *type != NULL; type++) {
            const struct config_keys *keys = config_keys_of(*type);
            if (keys == NULL) {
                fail_msg("%s has no row; add it to peers/transformers/config_keys.py", *type);
            }
            assert_true(config_key_is_known(keys, "torch_dtype") && config_key_is_known(keys, "_name_or_path"));
            assert_false(config_key_is_known(keys, "hiden_size") || config_key_is_known(keys, "") ||
                         config_key_is_known(keys, "_name_or_path architectures"));
        }
    }
    assert_true(config_key_is_known(NULL, "pretrained_cfg"));
    assert_false(config_key_is_known(NULL, "torch_dtype"));
}

static void catalogue_has_no_notes(void **state)
{
    struct catalogue catalogue;
    (void)state;
    assert_int_equal(catalogue_read("models/catalogue", &catalogue, NULL), STATUS_OK);
    assert_true(catalogue.count > 100);
    for (int i = 0; i < catalogue.count; i++) {
        struct config config;
        assert_int_equal(config_find("models/catalogue", catalogue.names[i], &config, NULL), STATUS_OK);
        if (config.note_count > 0) {
            fail_msg("%s", config.notes[0].text);
        }
    }
    catalogue_release(&catalogue);
}

/* Calls check with every line of the real classes' defaults. */
static void each_class(void (*check)(const char *type, const struct json *line))
{
    char line[8192];
    int count = 0;
    FILE *file = fopen("tests/models/golden/config_defaults.jsonl", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        struct json *document = NULL;
        assert_int_equal(json_parse_text("defaults", line, strlen(line), &document, NULL), STATUS_OK);
        const char *type = json_string_or(json_get(document, "model_type"), NULL);
        if (type != NULL) {
            check(type, document);
            count++;
        }
        json_release(document);
    }
    fclose(file);
    assert_int_equal(count, 26);
}

/* What an empty file says is taken is what an object of the real class has. */
static void defaults_check(const char *type, const struct json *line)
{
    char text[128], taken[128];
    int compared = 0;
    snprintf(text, sizeof text, "{\"model_type\": \"%.40s\"}", type);
    struct config config = config_of(text);
    for (int i = 0; i < config.note_count; i++) {
        const struct config_note *note = &config.notes[i];
        const struct json *value = json_get(json_get(line, "defaults"), note->key);
        assert_int_equal(note->kind, CONFIG_NOTE_MISSING);
        struct text number = {0};
        if (json_kind(value) == JSON_KIND_ARRAY) {
            for (size_t k = 0; k < json_count(value); k++) {
                text_format(&number, "%s%lld", k > 0 ? ", " : "[", (long long)json_integer_or(json_at(value, k), -1));
            }
            text_append(&number, "]");
        } else {
            text_format(&number, "%lld", (long long)json_integer_or(value, -1));
        }
        snprintf(taken, sizeof taken, " is missing; %s is taken, the default of ", text_string(&number));
        text_release(&number);
        if (strstr(note->text, taken) == NULL) {
            fail_msg("%s, and the real class has%s", note->text, taken);
        }
        compared++;
        assert_non_null(strstr(note->text, json_string_or(json_get(line, "class"), "?")));
    }
    assert_true(compared >= 3);
}

static void defaults_are_those_of_the_classes(void **state)
{
    (void)state;
    each_class(defaults_check);
}

static bool sizes_agree(const struct config *a, const struct config *b)
{
    return a->hidden == b->hidden && a->layers == b->layers && a->heads == b->heads && a->positions == b->positions &&
           a->head_dim == b->head_dim && a->experts == b->experts;
}

/* Of two names of one field the one that the class sets last is taken, in whatever order they stand. */
static void aliases_check(const char *type, const struct json *line)
{
    const struct json *aliases = json_get(line, "aliases"), *defaults = json_get(line, "defaults");
    for (const char *alias = json_key_after(aliases, NULL); alias != NULL; alias = json_key_after(aliases, alias)) {
        const char *field = json_string_or(json_get(aliases, alias), "");
        long long number = (long long)json_integer_or(json_get(defaults, field), 0);
        bool has_kinds = strcmp(type, "gpt_neo") == 0 && strcmp(field, "num_layers") == 0;
        if (number < 1 || has_kinds || strcmp(field, "num_mtp_layers") == 0 || strcmp(field, "num_stages") == 0) {
            continue; /* nothing of ours depends on the fourth; stages, and GPT-Neo's layers, have lists beside them */
        }
        char text[256];
        snprintf(text, sizeof text, "{\"model_type\": \"%.20s\", \"%.40s\": %lld}", type, field, 2 * number);
        struct config plain = config_of(text);
        snprintf(text, sizeof text, "{\"model_type\": \"%.20s\", \"%.40s\": %lld}", type, alias, 2 * number);
        struct config named = config_of(text);
        snprintf(text, sizeof text, "{\"model_type\": \"%.20s\", \"%.40s\": %lld, \"%.40s\": 16000}", type, alias,
                 2 * number, field);
        struct config both = config_of(text);
        if (!sizes_agree(&plain, &named) || !sizes_agree(&plain, &both)) {
            fail_msg("%s: %s is not what %s is", type, alias, field);
        }
        assert_null(note_of(&named, CONFIG_NOTE_MISSING, field));
    }
}

static void other_names_are_those_of_the_classes(void **state)
{
    (void)state;
    each_class(aliases_check);
    /* n_embed of Bloom and Falcon is read by the class itself, unless it is null */
    assert_int_equal(config_of("{\"model_type\": \"bloom\", \"hidden_size\": 64, \"n_embed\": 128}").hidden, 128);
    assert_int_equal(config_of("{\"model_type\": \"bloom\", \"hidden_size\": 96, \"n_embed\": null}").hidden, 96);
    assert_int_equal(config_of("{\"model_type\": \"deepseek_v2\", \"num_experts_per_tok\": 2, \"n_routed_experts\": 4, "
                               "\"num_experts\": 8}")
                         .experts,
                     8);
    /* GPT-2 takes hidden_size in place of n_embd, and no n_layers */
    assert_int_equal(config_of("{\"model_type\": \"gpt2\", \"n_embd\": 48, \"hidden_size\": 96}").hidden, 96);
    assert_int_equal(config_of("{\"model_type\": \"gpt2\", \"n_layers\": 3}").layers, 12);
}

static const char slips[] =
    "{\"model_type\": \"llama\",\n \"hiden_size\": 64, \"num_hiden_layer\": 2,\n"
    " \"n_layer\": 3, \"vocab_size\": 7, \"intermediate_size\": 8, \"num_attention_heads\": 4,\n"
    " \"a\\tb\": 1, \"use_cache\": true, \"pretraining_tp\": 1, \"torchscript\": false}";

static void slips_are_told_with_their_place(void **state)
{
    struct config config = config_of(slips);
    (void)state;
    assert_string_equal(text_of(&config, CONFIG_NOTE_RESEMBLES, "hiden_size"),
                        ":2:16: unknown key 'hiden_size'; did you mean 'hidden_size'?");
    assert_string_equal(text_of(&config, CONFIG_NOTE_RESEMBLES, "num_hiden_layer"),
                        ":2:39: unknown key 'num_hiden_layer'; did you mean 'num_hidden_layers'?");
    assert_string_equal(text_of(&config, CONFIG_NOTE_RESEMBLES, "n_layer"),
                        ":3:13: unknown key 'n_layer'; did you mean 'num_hidden_layers'?");
    assert_string_equal(text_of(&config, CONFIG_NOTE_MISSING, "hidden_size"),
                        ": hidden_size is missing; 4096 is taken, the default of LlamaConfig");
    assert_string_equal(text_of(&config, CONFIG_NOTE_UNKNOWN, "a\tb"),
                        ":1:1: unknown key 'a?b'; neither LlamaConfig nor assay reads it");
    assert_int_equal(config.note_count, 6);
    assert_int_equal(config.hidden, 4096);
}

#define WHOLE                                                                                                          \
    "{\"model_type\": \"llama\", \"vocab_size\": 7, \"hidden_size\": 64, \"num_hidden_layers\": 2, "                   \
    "\"num_attention_heads\": 4, \"intermediate_size\": 8"

/* A slip of a key that decides nothing here is a slip all the same; a key that resembles none is not told of as one. */
static void slips_of_keys_that_are_not_read_are_told(void **state)
{
    (void)state;
    struct config config = config_of(WHOLE ",\n \"use_cach\": true, \"my_own\": 1}");
    assert_string_equal(text_of(&config, CONFIG_NOTE_RESEMBLES, "use_cach"),
                        ":2:14: unknown key 'use_cach'; did you mean 'use_cache'?");
    assert_string_equal(text_of(&config, CONFIG_NOTE_UNKNOWN, "my_own"),
                        ":2:30: unknown key 'my_own'; neither LlamaConfig nor assay reads it");
    assert_int_equal(config.note_count, 2);
}

static void objects_within_are_looked_at(void **state)
{
    (void)state;
    struct config config =
        config_of(WHOLE ",\n \"rope_scaling\": {\"rope_typ\": \"linear\", \"factor\": 2.0, \"weird\": 1},\n"
                        " \"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_siz\": 1},\n"
                        " \"text_config\": {\"model_type\": \"gpt2\", \"n_embed\": 4, \"n_layer\": 2}}");
    assert_string_equal(text_of(&config, CONFIG_NOTE_RESEMBLES, "rope_typ"),
                        ":2:31: unknown key 'rope_typ' in rope_scaling; did you mean 'rope_type'?");
    assert_string_equal(
        text_of(&config, CONFIG_NOTE_RESEMBLES, "weight_block_siz"),
        ":3:69: unknown key 'weight_block_siz' in quantization_config; did you mean 'weight_block_size'?");
    assert_string_equal(text_of(&config, CONFIG_NOTE_RESEMBLES, "n_embed"),
                        ":4:51: unknown key 'n_embed' in text_config; did you mean 'n_embd'?");
    assert_string_equal(text_of(&config, CONFIG_NOTE_UNKNOWN, "weird"),
                        ":2:65: unknown key 'weird' in rope_scaling; neither transformers nor assay reads it");
    struct config kinds = config_of(WHOLE ", \"rope_parameters\": {\"full_attention\": {\"rope_tetha\": 1e4},\n"
                                          "\"sliding_attention\": {\"rope_type\": \"default\"}}}");
    assert_non_null(strstr(text_of(&kinds, CONFIG_NOTE_RESEMBLES, "rope_tetha"),
                           "in rope_parameters/full_attention; did you mean 'rope_theta'?"));
    assert_int_equal(kinds.note_count, 1);
    assert_int_equal(
        config_of(WHOLE ", \"rope_scaling\": null, \"text_config\": [1], \"quantization_config\": null}").note_count,
        1); /* text_config itself */
}

/* What decides nothing, or follows from what is there, is not missed. */
static void what_follows_is_not_missed(void **state)
{
    (void)state;
    assert_int_equal(config_of("{\"model_type\": \"llama\", \"vocab_size\": 7, \"hidden_size\": 64, "
                               "\"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"intermediate_size\": 8}")
                         .note_count,
                     0);
    struct config gpt2 = config_of("{\"model_type\": \"gpt2\", \"vocab_size\": 7, \"hidden_size\": 64, "
                                   "\"num_hidden_layers\": 2, \"num_attention_heads\": 4}");
    assert_non_null(note_of(&gpt2, CONFIG_NOTE_MISSING, "n_positions")); /* a table of them has weights */
    assert_int_equal(gpt2.note_count, 1);
    struct config vit = config_of("{\"model_type\": \"vit\"}");
    assert_non_null(note_of(&vit, CONFIG_NOTE_MISSING, "patch_size"));
    struct config convnext = config_of("{\"model_type\": \"convnext\", \"image_size\": 224, \"patch_size\": 4}");
    assert_string_equal(text_of(&convnext, CONFIG_NOTE_MISSING, "depths"),
                        ": depths is missing; [3, 3, 9, 3] is taken, the default of ConvNextConfig");
}

/* Many unknown keys are no more notes than there is room for, and those that resemble one come first. */
static void notes_are_bounded(void **state)
{
    struct text text = {0};
    (void)state;
    text_append(&text, "{\"model_type\": \"bert\"");
    for (int i = 0; i < 900; i++) {
        text_format(&text, ", \"zz%d\": %d", i, i);
    }
    text_append(&text, ", \"vocabsize\": 5}");
    struct config config = config_of(text_string(&text));
    text_release(&text);
    assert_int_equal(config.note_count, CONFIG_NOTES_MAXIMUM);
    assert_non_null(note_of(&config, CONFIG_NOTE_RESEMBLES, "vocabsize"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_its_keys),
        cmocka_unit_test(catalogue_has_no_notes),
        cmocka_unit_test(defaults_are_those_of_the_classes),
        cmocka_unit_test(other_names_are_those_of_the_classes),
        cmocka_unit_test(slips_are_told_with_their_place),
        cmocka_unit_test(slips_of_keys_that_are_not_read_are_told),
        cmocka_unit_test(objects_within_are_looked_at),
        cmocka_unit_test(what_follows_is_not_missed),
        cmocka_unit_test(notes_are_bounded),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
