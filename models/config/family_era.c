/* Family eras: the row of a release. Not the tables, which each family has. */
#include <string.h>

#include "models/config/config.h"
#include "models/config/family.h"

const struct family_era *family_era_of(const struct config *config, int release)
{
    const struct family_era *era = config->family->eras;
    for (; era != NULL && era->model_type != NULL; era++) {
        if (strcmp(era->model_type, config->model_type) == 0 && release < era->until) {
            return era;
        }
    }
    return NULL;
}
