/* Model: the places where a model may be, one after another. Not the readers of what lies there. */
#include "models/model.h"

#include <unistd.h>

#include "models/catalogue.h"
#include "models/model_hub.h"

enum status_code model_find(const struct model_places *places, const char *text, struct model *model,
                            struct status *error)
{
    struct model result = {0};
    struct status trouble = {0};
    enum status_code code = config_find(places->catalogue_dir, text, &result.config, &trouble);
    if (code == STATUS_OK) {
        *model = result;
        return STATUS_OK;
    }
    bool is_known = code != STATUS_INVALID || access(text, F_OK) == 0 || catalogue_knows(places->catalogue_dir, text);
    return is_known ? status_set(error, code, "%s", trouble.text) : model_find_on_hub(text, &trouble, model, error);
}

void model_release(struct model *model)
{
    *model = (struct model){0};
}
