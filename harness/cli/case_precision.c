/* Case precision: a choice and its words. The sums are those of models/stored_precision. */
#include "harness/cli/case_precision.h"

#include "harness/cli/model_notes.h"

static bool is_mixed(const struct precision_choice *choice)
{
    return choice->stored.type_bytes < choice->stored_bytes;
}

/* A note if the file stores another type than the case has. */
static void source_note(const char *command, const struct precision_choice *choice, struct text *notes)
{
    const char *taken = precision_name(choice->precision);
    if (choice->stored.type == NULL) {
        return;
    }
    if (!choice->stored.is_precision) {
        note_give(command, notes,
                  "most bytes are stored as %s, a type for storage only: %s is estimated%s; --precision "
                  "names another",
                  choice->stored.type->name, taken,
                  choice->source == PRECISION_CONFIGURATION ? ", as the configuration says" : "");
    } else if (choice->stored.precision != choice->precision) {
        const char *stored = precision_name(choice->stored.precision);
        note_give(command, notes,
                  "most bytes are stored as %s, and %s is estimated, as the configuration says, which is what "
                  "from_pretrained follows; --precision %s for what is stored",
                  stored, taken, stored);
    }
}

struct precision_choice precision_choose(const struct arguments *arguments, const struct model *model,
                                         struct text *notes)
{
    const struct checkpoint *checkpoint = model->checkpoint;
    const struct config *config = &model->config;
    struct precision_choice choice = {.precision = PRECISION_FLOAT32,
                                      .source = PRECISION_DEFAULT,
                                      .states_dtype = config->states_dtype && !model->inferred.is_inferred,
                                      .dtype = config->dtype,
                                      .packing = config->packing};
    if (checkpoint != NULL) {
        choice.stored = stored_precision_of(checkpoint);
        choice.stored_bytes = checkpoint->stored_bytes;
    }
    const char *given = arguments_value(arguments, "precision");
    if (given != NULL) {
        struct workload scratch = workload_default(MODE_LOAD);
        choice.source = PRECISION_GIVEN;
        if (workload_set(&scratch, "precision", given, NULL) ==
            STATUS_OK) { /* else case_options_read says what is wrong */
            choice.precision = scratch.precision;
        }
        return choice;
    }
    if (config->packing.quantize != NULL) {
        struct workload scratch = workload_default(MODE_LOAD);
        workload_set(&scratch, "precision", config->packing.precision, NULL); /* it is one */
        choice.source = PRECISION_CONFIGURATION;
        choice.precision = scratch.precision;
        return choice;
    }
    if (choice.states_dtype) {
        choice.source = PRECISION_CONFIGURATION;
        choice.precision = precision_of_dtype(config->dtype);
    } else if (choice.stored.is_precision) {
        choice.source = PRECISION_STORED;
        choice.precision = choice.stored.precision;
    }
    source_note(arguments->command->name, &choice, notes);
    return choice;
}

void precision_line(const struct precision_choice *choice, struct text *text)
{
    const char *other = choice->precision == PRECISION_FLOAT32 ? "bfloat16" : "float32";
    bool differs = choice->states_dtype && precision_of_dtype(choice->dtype) != choice->precision;
    if (choice->source == PRECISION_GIVEN && choice->precision <= PRECISION_BFLOAT16 && differs) {
        text_format(text, "%s, as asked for; the configuration says %s\n", precision_name(choice->precision),
                    dtype_name(choice->dtype));
    } else if (choice->source == PRECISION_CONFIGURATION) {
        text_format(text, "%s, as the configuration says; --precision %s for another\n",
                    precision_name(choice->precision), other);
    } else if (choice->source == PRECISION_STORED && is_mixed(choice)) {
        text_format(text, "%s, as %.1f %% of the bytes are stored; --precision %s for another\n",
                    precision_name(choice->precision),
                    100.0 * (double)choice->stored.type_bytes / (double)choice->stored_bytes, other);
    } else if (choice->source == PRECISION_STORED) {
        text_format(text, "%s, as stored; --precision %s for another\n", precision_name(choice->precision), other);
    }
}

struct json *precision_json(const struct precision_choice *choice)
{
    static const char *const names[] = {
        [PRECISION_GIVEN] = "given",
        [PRECISION_STORED] = "stored",
        [PRECISION_CONFIGURATION] = "configuration",
        [PRECISION_DEFAULT] = "default",
    };
    const struct storage_type *type = choice->stored.type;
    struct json *object = json_object_new();
    double fraction = type != NULL ? (double)choice->stored.type_bytes / (double)choice->stored_bytes : 0;
    bool made = json_set(object, "source", json_string_new(names[choice->source])) &&
                json_set(object, "stored", type != NULL ? json_string_new(type->name) : json_null_new()) &&
                json_set(object, "stored_fraction", type != NULL ? json_real_new(fraction) : json_null_new()) &&
                json_set(object, "configuration",
                         choice->states_dtype ? json_string_new(dtype_name(choice->dtype)) : json_null_new());
    return json_made(object, made);
}
