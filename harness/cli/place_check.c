/* Check of a device map: the words for findings. harness/placement/device_map finds them. */
#include "harness/cli/place_check.h"

#include <string.h>

#include "harness/base/json.h"
#include "harness/cli/device_map_file.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/weights_json.h"
#include "harness/placement/plan_json.h"

enum { NAMES_SHOWN = 20 };

static void names_append(const char *const *names, int count, struct text *text)
{
    for (int i = 0; i < count && i < NAMES_SHOWN; i++) {
        text_format(text, "  %s\n", names[i]);
    }
    if (count > NAMES_SHOWN) {
        text_format(text, "  and %d more; --json has all\n", count - NAMES_SHOWN);
    }
}

static struct json *names_json(const char *const *names, int count)
{
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < count && made; i++) {
        made = json_append(list, json_string_new(names[i]));
    }
    return json_made(list, made);
}

static enum status_code check_print(const struct arguments *arguments, const struct place_case *place,
                                    const struct device_map_check *check, struct status *error)
{
    if (arguments_value(arguments, "json") != NULL) {
        struct json *document = json_object_new();
        bool made = json_set(document, "covers", json_boolean_new(check->uncovered_count == 0)) &&
                    json_set(document, "uncovered", names_json(check->uncovered, check->uncovered_count)) &&
                    json_set(document, "unknown", names_json(check->unknown, check->unknown_count)) &&
                    json_set(document, "notes", notes_json(&place->notes));
        document = json_made(document, made);
        enum status_code code = output_json(document, error);
        json_release(document);
        return code;
    }
    struct text text = {0};
    if (check->uncovered_count == 0) {
        text_format(&text, "%s: every tensor has a device\n", place->model.config.name);
    } else {
        text_format(&text, "%s: %d %s no device, and dispatch_model refuses the map (ValueError)\n",
                    place->model.config.name, check->uncovered_count,
                    check->uncovered_count == 1 ? "tensor has" : "tensors have");
        names_append(check->uncovered, check->uncovered_count, &text);
    }
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static void unknown_note(struct place_case *place, const struct device_map *map, const struct device_map_check *check)
{
    struct text names = {0};
    for (int i = 0; i < check->unknown_count && i < NAMES_SHOWN; i++) {
        text_append(&names, i > 0 ? ", " : "");
        printable_append(check->unknown[i], &names);
    }
    if (check->unknown_count > 0) {
        note_give("place", &place->notes,
                  "%d of %d keys %s no module of %s: %s%s; the key of a parameter works, and "
                  "accelerate warns of it all the same",
                  check->unknown_count, map->count, check->unknown_count == 1 ? "is" : "are", place->model.config.name,
                  text_string(&names), check->unknown_count > NAMES_SHOWN ? ", ..." : "");
    }
    text_release(&names);
}

enum status_code place_check(const struct arguments *arguments, struct place_case *place, enum exit_code *exit_code,
                             struct status *error)
{
    const char *path = arguments_value(arguments, "check");
    struct json *document = NULL;
    struct device_map map = {0};
    struct device_map_check check = {0};
    enum status_code code = device_map_file_read(path, &place->arena, &document, &map, error);
    if (code == STATUS_OK) {
        code = device_map_check(&map, &place->skeleton, &place->arena, &check, error);
    }
    if (code == STATUS_OK) {
        unknown_note(place, &map, &check);
        code = check_print(arguments, place, &check, error);
        *exit_code = check.uncovered_count > 0 ? EXIT_CODE_FAIL : EXIT_CODE_PASS;
    }
    json_release(document);
    return code;
}
