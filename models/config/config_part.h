/* Parts of a configuration that several families read alike; for their readers alone. Faults go to the reader. */
#ifndef ASSAY_CONFIG_CONFIG_PART_H
#define ASSAY_CONFIG_CONFIG_PART_H

#include <stddef.h>
#include <stdint.h>

#include "models/config/config.h"
#include "models/config/field.h"

#define CONFIG_COUNT_MAXIMUM (INT64_C(1) << 40)
#define CONFIG_OFFSET(field) offsetof(struct config, field)

enum { CONFIG_IMAGE_MAXIMUM = 1 << 20 };

/* config->activation and its class, by the name that stands under key. */
void config_activation(struct field_reader *reader, const char *key, enum activation fallback, struct config *config);

/* The same by the name that transformers has for it; false, and nothing is written, if it is not known. */
bool activation_find(const char *name, struct config *config);
/* The same by the function, as the first of its names has it. */
void activation_set(enum activation activation, struct config *config);

/* config->pad_token, padding_idx of the embedding: -1 if there is none. Negative ones count from the end, as in the
 * framework. Needs config->vocab. */
void config_pad_token(struct field_reader *reader, int64_t fallback, struct config *config);

/* A fault if the switch is on. */
void config_refuse_true(struct field_reader *reader, const char *key);

/* A fault, placed at key, if the heads do not divide the hidden size. */
void config_heads_check(struct field_reader *reader, const char *key, struct config *config);

/* config->rope_theta; since transformers 5 it stands in an object of its own, rope_parameters. */
void config_rope(struct field_reader *reader, struct config *config);

/* Faults if the key heads do not divide the heads, heads are too large together, or an odd number of a head's
 * elements (config->head_dim) would be turned. */
void config_grouped_check(struct field_reader *reader, const struct config *config);

/* The layers with a sliding window, from layer_types. False, and nothing done, if it does not say. */
bool config_layer_types(struct field_reader *reader, struct config *config);

/* config->sliding_window, if any layer has it. */
void config_window(struct config *config, int64_t window);

/* The number of classes: the hub stores it as a map from index to label. */
int64_t config_classes(struct field_reader *reader);

/* timm's num_classes; 0: the model has no classifier, and gives features. */
int64_t config_timm_classes(struct field_reader *reader);

/* What timm's create_model would be given besides the name, model_args, as a reader of its own. A fault for each key
 * that is not in known, which ends with NULL; known_text lists them. False if the file has no such object. */
bool config_arguments(const struct field_reader *reader, const char *const *known, const char *known_text,
                      struct field_reader *inner);

/* The side of the image that timm's weights were made for: pretrained_cfg.input_size, [channels, height, width]. */
int64_t config_input_size(struct field_reader *reader);

#endif
