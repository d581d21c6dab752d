/* Check of an offload folder: reads it as accelerate would, and says what accelerate would not. */
#include "harness/cli/offload_check.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/checkpoint/offload_folder.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/offload_model.h"
#include "harness/cli/output.h"
#include "harness/cli/weights_json.h"
#include "harness/load/load_files.h"

enum { FINDINGS_SHOWN = 20, COMPARED_BYTES = 1 << 16 };

struct check {
    struct offload_folder *folder;
    struct offload_model model; /* all zero: none is named */
    bool has_model, compares_values;
    struct json *findings, *remarks; /* lists of {"kind", "name", "text"} */
    int64_t bytes;                   /* of the entries that can be read */
};

static enum status_code note(struct json *list, const char *kind, const char *name, const char *words,
                             struct status *error)
{
    struct json *row = json_object_new();
    bool made = json_set(row, "kind", json_string_new(kind)) && json_set(row, "name", json_string_new(name)) &&
                json_set(row, "text", json_string_new(words));
    return json_append(list, json_made(row, made))
               ? STATUS_OK
               : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for what was found");
}

/* Errors of the folder become findings; a lack of memory on the host does not. */
static enum status_code found(struct check *check, enum status_code code, const struct status *cause, const char *kind,
                              const char *name, struct status *error)
{
    char line[STATUS_LINE_BYTES];
    if (code == STATUS_INVALID || code == STATUS_OVERFLOW || code == STATUS_IO) {
        return note(check->findings, kind, name, status_line(cause, line), error);
    }
    return code == STATUS_OK ? code : status_copy(error, code, cause);
}

/* -- the folder by itself */

static enum status_code entries_check(struct check *check, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (const char *name = offload_folder_next(check->folder, NULL); name != NULL && code == STATUS_OK;
         name = offload_folder_next(check->folder, name)) {
        struct offload_entry entry;
        struct byte_source *source = NULL;
        struct status cause = {0};
        enum status_code one = offload_entry_read(check->folder, name, &entry, &cause);
        const char *kind = one == STATUS_OK ? "file" : "entry";
        if (one == STATUS_OK) {
            one = offload_source_open(check->folder, &entry, &source, &cause);
        }
        if (one == STATUS_OK) {
            byte_source_release(source);
            check->bytes = size_add(check->bytes, entry.bytes, &check->bytes) ? check->bytes : INT64_MAX;
        }
        code = found(check, one, &cause, kind, name, error);
    }
    return code;
}

/* Files that look like weights and have no entry: what an interrupted run has left, of accelerate or of this
 * program. */
static enum status_code strays_note(struct check *check, struct status *error)
{
    enum status_code code = STATUS_OK;
    DIR *files = opendir(offload_folder_path(check->folder));
    for (const struct dirent *file = files != NULL ? readdir(files) : NULL; file != NULL && code == STATUS_OK;
         file = readdir(files)) {
        struct text name = {0};
        size_t length = strlen(file->d_name);
        bool is_dat = length > 4 && strcmp(file->d_name + length - 4, ".dat") == 0;
        text_append_bytes(&name, file->d_name, is_dat ? length - 4 : length);
        if (is_dat && !offload_folder_has(check->folder, text_string(&name))) {
            code = note(check->remarks, "stray", text_string(&name),
                        "a .dat that the index does not name; nobody reads it", error);
        }
        text_release(&name);
    }
    if (files != NULL) {
        closedir(files);
    }
    return code;
}

/* -- against a model */

struct comparison {
    struct byte_source *source;
    const char *name;
    int64_t done;
};

static enum status_code piece_compare(void *context, const void *bytes, int64_t count, struct status *error)
{
    struct comparison *comparison = context;
    unsigned char there[COMPARED_BYTES];
    enum status_code code = STATUS_OK;
    for (int64_t at = 0; at < count && code == STATUS_OK;) {
        int64_t now = count - at < COMPARED_BYTES ? count - at : COMPARED_BYTES;
        code = byte_source_read(comparison->source, comparison->done + at, there, (size_t)now, error);
        if (code == STATUS_OK && memcmp(there, (const unsigned char *)bytes + at, (size_t)now) != 0) {
            code =
                status_set(error, STATUS_INVALID, "%s: it has other values of %s than the model's files; offload again",
                           comparison->source->name, comparison->name);
        }
        at += now;
    }
    comparison->done += count;
    return code;
}

static enum status_code values_check(struct check *check, const struct offload_entry *entry,
                                     const struct offload_item *item, const struct load_files *files,
                                     struct status *error)
{
    struct comparison comparison = {.name = entry->name};
    enum status_code code = offload_source_open(check->folder, entry, &comparison.source, error);
    if (code != STATUS_OK) {
        return STATUS_OK; /* told already, of the folder by itself */
    }
    const struct load_stream stream = {item->parts, item->part_count, piece_compare, &comparison};
    code = load_files_stream(files, &stream, error);
    byte_source_release(comparison.source);
    return code;
}

static enum status_code item_check(struct check *check, const struct offload_item *item, const struct load_files *files,
                                   struct status *error)
{
    struct offload_entry entry;
    struct status cause = {0};
    const char *name = item->tensor.name;
    bool is_there = offload_folder_has(check->folder, name);
    enum status_code code = offload_entry_read(check->folder, name, &entry, &cause);
    if (code != STATUS_OK) {
        return is_there ? STATUS_OK /* told already, of the folder by itself */
                        : note(check->findings, "missing", name, "the index has no entry of this name", error);
    }
    struct offload_tensor wanted = item->tensor;
    wanted.type = wanted.type != NULL ? wanted.type : entry.type;
    code = offload_entry_expect(check->folder, &entry, &wanted, &cause);
    if (code != STATUS_OK) {
        return found(check, code, &cause, "differs", name, error);
    }
    if (check->compares_values && item->part_count > 0 && item->obstacle == NULL) {
        code = values_check(check, &entry, item, files, &cause);
    }
    return found(check, code, &cause, "values", name, error);
}

static int name_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Entries that the model does not have: nobody asks for them, but the folder is perhaps another model's. */
static enum status_code extras_note(struct check *check, struct status *error)
{
    struct arena arena = {0};
    const struct offload_list *list = &check->model.list;
    const char **names = arena_alloc(&arena, (size_t)list->count * sizeof *names);
    enum status_code code =
        names != NULL ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for names");
    for (int i = 0; i < list->count && code == STATUS_OK; i++) {
        names[i] = list->items[i].tensor.name;
    }
    if (code == STATUS_OK) {
        qsort(names, (size_t)list->count, sizeof *names, name_order);
    }
    for (const char *name = offload_folder_next(check->folder, NULL); name != NULL && code == STATUS_OK;
         name = offload_folder_next(check->folder, name)) {
        if (bsearch(&name, names, (size_t)list->count, sizeof *names, name_order) == NULL) {
            code = note(check->remarks, "extra", name, "an entry that the model has no tensor for", error);
        }
    }
    arena_release(&arena);
    return code;
}

static enum status_code model_check(struct check *check, struct status *error)
{
    struct load_files files = {0};
    bool reads = check->compares_values && check->model.files != NULL;
    enum status_code code = reads ? load_files_hold(check->model.files, &files, error) : STATUS_OK;
    for (int i = 0; i < check->model.list.count && code == STATUS_OK; i++) {
        if (check->model.list.items[i].is_wanted) {
            code = item_check(check, &check->model.list.items[i], &files, error);
        }
    }
    code = code == STATUS_OK ? load_files_check(&files, error) : code;
    load_files_release(&files);
    return code == STATUS_OK ? extras_note(check, error) : code;
}

/* -- telling */

/* Of these kinds the name says all; the texts of the others have it. */
static bool is_name_alone(const char *kind)
{
    return strcmp(kind, "missing") == 0 || strcmp(kind, "extra") == 0 || strcmp(kind, "stray") == 0;
}

static void rows_append(const struct json *rows, struct text *text)
{
    size_t count = json_count(rows);
    for (size_t i = 0; i < count && i < FINDINGS_SHOWN; i++) {
        const struct json *row = json_at(rows, i);
        const char *kind = json_string_or(json_get(row, "kind"), "");
        text_format(text, "  %-8s ", kind);
        printable_append(json_string_or(json_get(row, is_name_alone(kind) ? "name" : "text"), ""), text);
        text_append(text, "\n");
    }
    if (count > FINDINGS_SHOWN) {
        text_format(text, "  and %zu more; --json has all\n", count - FINDINGS_SHOWN);
    }
}

static enum status_code lines_print(const struct check *check, struct status *error)
{
    struct text text = {0};
    char size[SIZE_TEXT_BYTES];
    size_t count = json_count(check->findings);
    text_format(&text, "%s: %d tensors, %s (%" PRId64 " bytes)", offload_folder_path(check->folder),
                offload_folder_count(check->folder), size_format(check->bytes, size), check->bytes);
    if (count > 0) {
        text_format(&text, "; %zu %s wrong\n", count, count == 1 ? "thing is" : "things are");
    } else {
        text_format(&text, "; every file is there and has its size\n");
    }
    if (count == 0 && check->has_model) {
        text_format(&text, "every tensor of %s that was asked for is there with its shape%s\n", check->model.name,
                    check->compares_values       ? ", dtype and bytes"
                    : check->model.files != NULL ? " and dtype"
                                                 : "");
    }
    rows_append(check->findings, &text);
    if (count > 0) {
        text_append(&text, "accelerate would take this folder as it is: offload the model again, into a new one\n");
    }
    if (json_count(check->remarks) > 0) {
        text_append(&text, "there besides (extra: not of the model; stray: a .dat that the index does not name)\n");
        rows_append(check->remarks, &text);
    }
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static enum status_code json_print(const struct check *check, struct status *error)
{
    struct json *document = json_object_new();
    bool made = json_set(document, "folder", json_string_new(offload_folder_path(check->folder))) &&
                json_set(document, "model", check->has_model ? json_string_new(check->model.name) : json_null_new()) &&
                json_set(document, "tensor_count", json_integer_new(offload_folder_count(check->folder))) &&
                json_set(document, "bytes", json_integer_new(check->bytes)) &&
                json_set(document, "values_compared", json_boolean_new(check->compares_values)) &&
                json_set(document, "findings", json_share(check->findings)) &&
                json_set(document, "remarks", json_share(check->remarks));
    document = json_made(document, made);
    enum status_code code = output_json(document, error);
    json_release(document);
    return code;
}

static enum status_code check_open(const struct arguments *arguments, struct check *check, struct status *error)
{
    bool wants_values = arguments_value(arguments, "values") != NULL;
    enum status_code code = offload_folder_open(arguments_value(arguments, "check"), &check->folder, error);
    if (code == STATUS_OK && arguments->operand_count > 0) {
        code = offload_model_open(arguments, arguments->operands[0], &check->model, error);
        check->has_model = code == STATUS_OK;
    }
    if (code == STATUS_OK && wants_values && check->model.files == NULL) {
        code =
            status_set(error, STATUS_INVALID, "--values: %s; name a folder or a file that has them as MODEL",
                       check->has_model ? "this model has no model files" : "there are no model files to compare with");
    }
    check->compares_values = wants_values;
    check->findings = json_array_new();
    check->remarks = json_array_new();
    return code;
}

enum status_code offload_check_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct check check = {0};
    enum status_code code = check_open(arguments, &check, error);
    if (code == STATUS_OK) {
        code = entries_check(&check, error);
    }
    if (code == STATUS_OK) {
        code = strays_note(&check, error);
    }
    if (code == STATUS_OK && check.has_model) {
        code = model_check(&check, error);
    }
    if (code == STATUS_OK) {
        code = arguments_value(arguments, "json") != NULL ? json_print(&check, error) : lines_print(&check, error);
        *exit_code = json_count(check.findings) > 0 ? EXIT_CODE_FAIL : EXIT_CODE_PASS;
    }
    json_release(check.findings);
    json_release(check.remarks);
    offload_model_close(&check.model);
    offload_folder_close(check.folder);
    return code;
}
