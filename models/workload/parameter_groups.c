/* Parameter groups: the rule by which a parameter belongs to one. Not the steps: workload_tape.c. */
#include "models/workload/parameter_groups.h"

#include <ctype.h>
#include <string.h>

/* Whether text begins with word, whose letters are small. */
static bool begins(const char *text, const char *word)
{
    size_t i = 0;
    while (word[i] != '\0' && tolower((unsigned char)text[i]) == word[i]) {
        i++;
    }
    return word[i] == '\0';
}

static bool ends_part(char byte)
{
    return byte == '\0' || byte == '.';
}

bool parameter_decays(const struct skeleton *skeleton, const struct skeleton_tensor *tensor)
{
    const char *path = tensor->path, *class_name = skeleton->modules[tensor->module].class_name;
    bool forbidden = strcmp(class_name, "LayerNorm") == 0 || strcmp(class_name, "ConvNextLayerNorm") == 0;
    for (const char *at = path; *at != '\0' && !forbidden; at++) {
        bool is_part = (at == path || at[-1] == '.') && begins(at, "norm") && ends_part(at[4]);
        bool is_ending = begins(at, "_norm") && ends_part(at[5]);
        forbidden = is_part || is_ending || begins(at, "bias") || begins(at, "layernorm") || begins(at, "rmsnorm");
    }
    return !forbidden;
}
