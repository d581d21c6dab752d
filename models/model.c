/* Model: the places where a model may be, one after another. Not the readers of what lies there. */
#include "models/model.h"

#include "models/catalogue.h"

enum status_code model_find(const struct model_places *places, const char *text, struct model *model,
                            struct status *error)
{
    struct model result = {0};
    enum status_code code = config_find(places->catalogue_dir, text, &result.config, error);
    if (code == STATUS_OK) {
        *model = result;
    }
    return code;
}

void model_release(struct model *model)
{
    *model = (struct model){0};
}
