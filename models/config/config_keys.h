/* Configuration keys: which keys the real configuration classes know, so that those that change nothing here are told
 * from slips of the keyboard; and which key another one stands for. The tables are made by
 * peers/transformers/config_keys.py. */
#ifndef ASSAY_CONFIG_CONFIG_KEYS_H
#define ASSAY_CONFIG_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* Where a file has key, its value is that of field, whatever stands under field: attribute_map of the real class, whose
 * other names are set behind its fields. */
struct config_alias {
    const char *key, *field;
};

/* Of one model_type. Keys are words in one text, each between spaces. */
struct config_keys {
    const char *model_type;
    const char *class_name;             /* "GPT2Config" */
    const char *keys;                   /* without those of every configuration */
    const struct config_alias *aliases; /* ended by NULLs */
};

/* Row number index of the table, NULL past the end. */
const struct config_keys *config_keys_at(size_t index);

/* Keys of every configuration of transformers, and of timm's. */
const char *config_common_keys(void);
const char *config_timm_keys(void);

/* Keys within rope_parameters and rope_scaling, and within quantization_config, of any method. */
const char *config_rope_keys(void);
const char *config_quantization_keys(void);

/* The row of a model_type; NULL if it has none, as timm's families. */
const struct config_keys *config_keys_of(const char *model_type);

/* Whether the files of a model_type have a field under this key: its class has it, and not as another name of one. This
 * is what a program finds that reads config.json by itself. */
bool config_file_has(const char *model_type, const char *key);

/* Whether the class of that row, or timm for NULL, knows the key. */
bool config_key_is_known(const struct config_keys *keys, const char *key);

#endif
