/* Fuzz target: config.json, to the skeleton. Skeletons are lists of tensors, so that those of many layers are passed
 * over. */
#include "harness/base/json.h"
#include "models/family/config_reading.h"
#include "models/skeleton/skeleton.h"
#include "tests/fuzz/fuzz.h"

enum { LAYERS_MAXIMUM = 64 };

static void skeletons_build(const struct config *config)
{
    for (enum head head = HEAD_BARE; head <= HEAD_LM; head++) {
        struct skeleton skeleton;
        struct status error = {0};
        enum status_code code = skeleton_build(config, head, &skeleton, &error);
        fuzz_status_check(code, &error);
        if (code == STATUS_OK) {
            fuzz_require(skeleton.tensor_count > 0 && skeleton.parameter_count > 0);
            fuzz_require(skeleton_find(&skeleton, skeleton.tensors[skeleton.tensor_count - 1].path) ==
                         skeleton.tensor_count - 1);
            skeleton_release(&skeleton);
        }
    }
}

int fuzz_config(const uint8_t *data, size_t size)
{
    struct json *document = NULL;
    struct config config;
    struct status error = {0};
    enum status_code code = json_parse_text("config.json of a test", (const char *)data, size, &document, &error);
    fuzz_status_check(code, &error);
    if (code != STATUS_OK) {
        return 0;
    }
    code = config_of_json(document, "config.json of a test", "test", &config, &error);
    fuzz_status_check(code, &error);
    if (code == STATUS_OK && config.layers <= LAYERS_MAXIMUM) {
        skeletons_build(&config);
    }
    json_release(document);
    return 0;
}
