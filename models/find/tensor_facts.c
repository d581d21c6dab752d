/* Tensor facts: sizes, counts and presence of tensors into keys of a configuration. Nothing here knows a model by name;
 * what is special to a kind of attention is a kind of heads in the table. */
#include "models/find/tensor_facts.h"

#include <stdio.h>
#include <string.h>

enum { LAYERS_LOOKED_AT = 1024, STAGES_MOST = 16 };

/* inner: the number that '*' stands for. */
static bool name_write(const struct tensor_place *place, const char *name, int layer, int inner,
                       char path[TENSOR_NAME_BYTES])
{
    static const char marks[] = "#*@~";
    const int numbers[] = {layer, inner, place->sparse, place->dense};
    bool is_beside = name[0] == '/', is_there = true;
    size_t length = (size_t)snprintf(path, TENSOR_NAME_BYTES, "%s", is_beside ? "" : place->prefix);
    for (const char *at = is_beside ? name + 1 : name; *at != '\0' && length + 16 < TENSOR_NAME_BYTES; at++) {
        const char *mark = strchr(marks, *at);
        int number = mark != NULL ? numbers[mark - marks] : 0;
        is_there = is_there && number >= 0;
        length += (size_t)(mark != NULL ? snprintf(path + length, TENSOR_NAME_BYTES - length, "%d", number)
                                        : snprintf(path + length, TENSOR_NAME_BYTES - length, "%c", *at));
    }
    return is_there;
}

bool tensor_name_write(const struct tensor_place *place, const char *name, int layer, char path[TENSOR_NAME_BYTES])
{
    return name_write(place, name, layer, 0, path);
}

static const struct checkpoint_tensor *tensor_within(const struct tensor_place *place, const char *name, int layer,
                                                     int inner)
{
    char path[TENSOR_NAME_BYTES];
    return name_write(place, name, layer, inner, path) ? checkpoint_find(place->checkpoint, path) : NULL;
}

static const struct checkpoint_tensor *tensor_at(const struct tensor_place *place, const char *name, int layer)
{
    return tensor_within(place, name, layer, 0);
}

static int64_t axis_of(const struct checkpoint_tensor *tensor, int axis)
{
    return tensor != NULL && axis < tensor->rank ? tensor->shape[axis] : 0;
}

static int64_t size_of(const struct tensor_place *place, const char *name, int axis)
{
    return name != NULL ? axis_of(tensor_at(place, name, 0), axis) : 0;
}

/* -1: none has it. */
static int first_layer(const struct tensor_place *place, const char *name)
{
    for (int layer = 0; layer < LAYERS_LOOKED_AT && tensor_at(place, TENSOR_LAYER, layer) != NULL; layer++) {
        if (tensor_at(place, name, layer) != NULL) {
            return layer;
        }
    }
    return -1;
}

struct tensor_place tensor_place_of(const struct checkpoint *checkpoint, const char *prefix)
{
    struct tensor_place place = {checkpoint, prefix, -1, -1};
    place.sparse = first_layer(&place, TENSOR_EXPERTS);
    place.dense = first_layer(&place, TENSOR_DENSE);
    return place;
}

bool tensor_family_fits(const struct tensor_place *place, const struct tensor_family *family)
{
    for (const char *const *name = family->needs; *name != NULL; name++) {
        if (tensor_at(place, *name, 0) == NULL) {
            return false;
        }
    }
    for (const char *const *name = family->lacks; *name != NULL; name++) {
        if (tensor_at(place, *name, 0) != NULL) {
            return false;
        }
    }
    return true;
}

/* stage: NO_STAGE, or the number that '#' stands for while '*' counts. */
enum { NO_STAGE = -1 };
static int64_t layers_count(const struct tensor_place *place, const char *name, int stage)
{
    int count = 0;
    while (count < place->checkpoint->tensor_count &&
           (stage == NO_STAGE ? tensor_at(place, name, count) : tensor_within(place, name, stage, count)) != NULL) {
        count++;
    }
    return count;
}

/* The side of an image whose patches have a row each, beside that of the class; 0: they make no square. */
static int64_t image_side(int64_t rows, int64_t patch)
{
    int64_t side = 1;
    while (side < 65536 && side * side < rows - 1) {
        side++;
    }
    return side * side == rows - 1 && patch > 0 && patch < 65536 ? side * patch : 0;
}

static int64_t number_of(const struct json *document, const char *key)
{
    return json_integer_or(json_get(document, key), 0);
}

static bool number_add(struct json *document, const char *key, int64_t number)
{
    return number <= 0 || json_set(document, key, json_integer_new(number));
}

/* The numbers of the layers that have it. */
static bool layers_add(const struct tensor_place *place, const struct tensor_fact *fact, struct json *document)
{
    struct json *list = json_array_new();
    int64_t count = number_of(document, "num_hidden_layers");
    bool made = list != NULL;
    for (int layer = 0; layer < count && layer < LAYERS_LOOKED_AT && made; layer++) {
        made = tensor_at(place, fact->tensor, layer) == NULL || json_append(list, json_integer_new(layer));
    }
    if (made && json_count(list) == 0) {
        json_release(list);
        return true;
    }
    return json_set(document, fact->key, list) && made;
}

/* [[["global", "local"], n / 2]], and one more of the first if the layers are odd. */
static bool turns_add(const struct tensor_place *place, const struct tensor_fact *fact, struct json *document)
{
    int64_t layers = layers_count(place, fact->tensor, NO_STAGE);
    struct json *list = json_array_new();
    bool made = list != NULL;
    for (int last = 0; last < 2 && made; last++) {
        struct json *kinds = json_array_new(), *item = json_array_new();
        made = kinds != NULL && item != NULL && json_append(kinds, json_string_new("global"));
        made = made && (last == 1 || json_append(kinds, json_string_new("local")));
        made = json_append(item, kinds) && made;
        made = made && json_append(item, json_integer_new(last == 1 ? layers % 2 : layers / 2));
        made = json_append(list, item) && made;
    }
    return json_set(document, fact->key, list) && made;
}

static bool stages_add(const struct tensor_place *place, const struct tensor_fact *fact, struct json *document)
{
    struct json *list = json_array_new();
    const struct checkpoint_tensor *first = NULL;
    bool made = list != NULL;
    for (int stage = 0; stage < STAGES_MOST && made && (first = tensor_at(place, fact->tensor, stage)) != NULL;
         stage++) {
        int64_t number = fact->kind == TENSOR_WIDTHS ? axis_of(first, 0) : layers_count(place, fact->tensor, stage);
        made = json_append(list, json_integer_new(number));
    }
    return json_set(document, fact->key, list) && made;
}

/* What the size of one tensor says. */
static bool size_add(const struct tensor_place *place, const struct tensor_fact *fact, struct json *document)
{
    int64_t size = size_of(place, fact->tensor, fact->axis);
    switch (fact->kind) {
    case TENSOR_SIZE_ELSE:
        return size > 0 || fact->less > 0 ? number_add(document, fact->key, size > 0 ? size : fact->less)
                                          : json_set(document, fact->key, json_null_new());
    case TENSOR_ASSUMED:
        return number_add(document, fact->key, size < fact->less ? size : fact->less);
    case TENSOR_IMAGE:
        return number_add(document, fact->key, image_side(size, number_of(document, "patch_size")));
    default:
        return number_add(document, fact->key, (size - fact->less) / (fact->divisor > 0 ? fact->divisor : 1));
    }
}

static bool fact_add(const struct tensor_place *place, const struct tensor_fact *fact, struct json *document)
{
    bool is_there = tensor_at(place, fact->tensor, 0) != NULL;
    bool is_beside = fact->tensor[0] == '/' && place->prefix[0] == '\0'; /* a file of no head says nothing of it */
    switch (fact->kind) {
    case TENSOR_SIZE:
    case TENSOR_SIZE_ELSE:
    case TENSOR_ASSUMED:
    case TENSOR_IMAGE:
        return size_add(place, fact, document);
    case TENSOR_COUNT:
        return number_add(document, fact->key, layers_count(place, fact->tensor, NO_STAGE));
    case TENSOR_PRESENT:
        return json_set(document, fact->key, json_boolean_new(is_there));
    case TENSOR_ABSENT:
        return (is_beside && !is_there) || json_set(document, fact->key, json_boolean_new(!is_there));
    case TENSOR_TEXT:
        return !is_there || json_set(document, fact->key, json_string_new(fact->text));
    case TENSOR_FIRST:
        return json_set(document, fact->key, json_integer_new(place->sparse > 0 ? place->sparse : 0));
    case TENSOR_TURNS:
        return turns_add(place, fact, document);
    case TENSOR_LAYERS:
        return layers_add(place, fact, document);
    case TENSOR_DEPTHS:
    case TENSOR_WIDTHS:
        return stages_add(place, fact, document);
    }
    return false;
}

/* Latent attention. With h heads of n elements without and r with positions, and v of a value: queries are h (n + r)
 * wide, what the latent becomes is h (n + v), the output's input h v, and r is what the first product makes beside the
 * latent. So h r = queries - (latent's - output's), and the rest follows. Worked, DeepSeek-V2-Lite: 3,072 - (4,096 -
 * 2,048) = 1,024 = 16 * 64. */
static bool latent_add(const struct tensor_place *place, struct tensor_heads_found *heads, struct json *document)
{
    int64_t latent = size_of(place, "layers.0.self_attn.kv_a_layernorm.weight", 0);
    int64_t rotary = size_of(place, "layers.0.self_attn.kv_a_proj_with_mqa.weight", 0) - latent;
    int64_t expanded = size_of(place, "layers.0.self_attn.kv_b_proj.weight", 0);
    int64_t values = size_of(place, "layers.0.self_attn.o_proj.weight", 1), plain = expanded - values;
    int64_t whole = size_of(place, "layers.0.self_attn.q_proj.weight", 0);
    int64_t queries = whole > 0 ? whole : size_of(place, "layers.0.self_attn.q_b_proj.weight", 0);
    int64_t turned = plain > 0 ? queries - plain : 0, count = rotary > 0 ? turned / rotary : 0;
    if (latent <= 0 || count <= 0 || turned % rotary != 0 || plain % count != 0 || values % count != 0) {
        return true; /* the class's own sizes are taken, and their shapes are not those of the file: that is found */
    }
    *heads = (struct tensor_heads_found){.count = count, .elements = plain / count + rotary, .is_exact = true};
    return number_add(document, "kv_lora_rank", latent) && number_add(document, "qk_rope_head_dim", rotary) &&
           number_add(document, "qk_nope_head_dim", plain / count) &&
           number_add(document, "v_head_dim", values / count) && number_add(document, "num_attention_heads", count) &&
           number_add(document, "num_key_value_heads", count);
}

/* Beside it: shared experts are stored as one, and the groups of DeepSeek-V3 must divide the experts. */
static bool shared_experts_add(const struct tensor_place *place, struct json *document)
{
    enum { GROUPS = 8, GROUPS_USED = 4 };
    int64_t shared = size_of(place, "layers.@.mlp.shared_experts.gate_proj.weight", 0);
    int64_t width = number_of(document, "moe_intermediate_size"), experts = number_of(document, "n_routed_experts");
    bool is_grouped = experts % GROUPS == 0 && experts >= 2 * GROUPS &&
                      number_of(document, "num_experts_per_tok") <= experts / GROUPS * GROUPS_USED;
    bool made = width <= 0 || number_add(document, "n_shared_experts", shared / width);
    return made && (is_grouped || (number_add(document, "n_group", 1) && number_add(document, "topk_group", 1)));
}

/* 0: no tensor tells them. */
static int64_t elements_told(const struct tensor_place *place, const struct tensor_heads *from, int64_t queries,
                             int64_t keys)
{
    int64_t exact = size_of(place, from->exact, 0), count = size_of(place, from->count, 1);
    if (from->kind == HEADS_ONE_KEY) {
        return keys;
    }
    return exact > 0 && exact <= queries / from->exact_factor ? exact * from->exact_factor
           : count > 0                                        ? queries / count
                                                              : 0;
}

static struct tensor_heads_found heads_of(const struct tensor_place *place, const struct tensor_heads *from)
{
    int64_t queries = size_of(place, from->queries, from->queries_axis);
    int64_t usual = from->usual > 0 ? from->usual : queries >= from->wide_from ? 128 : 64;
    int64_t keys = from->keys != NULL ? size_of(place, from->keys, 0) : queries;
    struct tensor_heads_found heads = {.is_exact = true};
    heads.keys = from->kind == HEADS_PLAIN ? keys : (keys - queries) / 2;
    if (queries <= 0 || heads.keys <= 0) {
        return heads;
    }
    heads.elements = elements_told(place, from, queries, heads.keys);
    if (heads.elements == 0) {
        heads.is_exact = false;
        for (heads.elements = usual; heads.elements > 1;) {
            if (queries % heads.elements == 0 && heads.keys % heads.elements == 0) {
                break;
            }
            heads.elements = heads.elements % 3 == 0 ? 128 : heads.elements / 2; /* 96 is Phi-3-mini's alone */
        }
    }
    heads.count = heads.elements > 0 ? queries / heads.elements : 0;
    return heads;
}

bool tensor_facts_add(const struct tensor_place *place, const struct tensor_family *family,
                      struct tensor_heads_found *heads, struct json *document)
{
    const struct tensor_heads *from = &family->heads;
    bool made = true;
    for (const struct tensor_fact *fact = family->facts; fact->key != NULL && made; fact++) {
        made = fact_add(place, fact, document);
    }
    if (from->kind == HEADS_LATENT) {
        *heads = (struct tensor_heads_found){0};
        return made && latent_add(place, heads, document) && shared_experts_add(place, document);
    }
    *heads = heads_of(place, from);
    return made && (from->heads_key == NULL || number_add(document, from->heads_key, heads->count)) &&
           (from->kv_key == NULL || heads->elements == 0 ||
            number_add(document, from->kv_key, heads->keys / heads->elements)) &&
           (from->dim_key == NULL || number_add(document, from->dim_key, heads->elements));
}
