/* Model folder: the header is written from a skeleton, the data are a hole in the file. */
#include "tests/models/model_folder.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/text.h"
#include "models/find/config_file.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

struct header {
    struct text text;
    const struct edit *edits;
    int edit_count;
    int64_t end; /* of the data so far */
};

static const char *edited(const struct header *header, enum edit_kind kind, const char *tensor)
{
    for (int i = 0; i < header->edit_count; i++) {
        if (header->edits[i].kind == kind && strcmp(header->edits[i].tensor, tensor) == 0) {
            return header->edits[i].value != NULL ? header->edits[i].value : "";
        }
    }
    return NULL;
}

static void name_add(struct header *header, const char *path)
{
    const char *name = edited(header, EDIT_NAME, path);
    text_append(&header->text, header->end > 0 ? ",\"" : "\"");
    for (int i = 0; i < header->edit_count && name == NULL; i++) {
        size_t length = strlen(header->edits[i].tensor);
        if (header->edits[i].kind == EDIT_PREFIX && strncmp(path, header->edits[i].tensor, length) == 0) {
            text_append(&header->text, header->edits[i].value);
            path += length;
            break;
        }
    }
    text_format(&header->text, "%s\":{", name != NULL ? name : path);
}

static void tensor_add(struct header *header, const struct skeleton_tensor *tensor)
{
    const char *dtype = edited(header, EDIT_DTYPE, tensor->path);
    const char *first = edited(header, EDIT_FIRST_SIZE, tensor->path);
    int64_t bytes = dtype == NULL ? (tensor->dtype == DTYPE_INT64 ? 8 : 4) : strcmp(dtype, "F16") == 0 ? 2 : 1;
    const char *own = tensor->dtype == DTYPE_INT64 ? "I64" : "F32";
    name_add(header, tensor->path);
    text_format(&header->text, "\"dtype\":\"%s\",\"shape\":[", dtype != NULL ? dtype : own);
    for (int i = 0; i < tensor->rank; i++) {
        int64_t size = i == 0 && first != NULL ? strtoll(first, NULL, 10) : tensor->size[i];
        text_format(&header->text, "%s%" PRId64, i > 0 ? "," : "", size);
        bytes *= size;
    }
    text_format(&header->text, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", header->end, header->end + bytes);
    header->end += bytes;
}

static void header_make(struct header *header, const struct skeleton *skeleton)
{
    text_append(&header->text, "{");
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        bool stored = tensor->persistent && (tensor->tied_to < 0 || edited(header, EDIT_TIED, tensor->path) != NULL);
        if (stored && edited(header, EDIT_DROP, tensor->path) == NULL) {
            tensor_add(header, tensor);
        }
    }
    for (int i = 0; i < header->edit_count; i++) {
        if (header->edits[i].kind == EDIT_ADD) {
            text_format(&header->text, ",\"%s\":{%s,\"data_offsets\":[%" PRId64 ",%" PRId64 "]}",
                        header->edits[i].tensor, header->edits[i].value, header->end, header->end + 4);
            header->end += 4;
        }
    }
    text_append(&header->text, "}");
    assert_false(header->text.failed);
}

static void config_copy(const char *folder, const char *model)
{
    char path[256];
    snprintf(path, sizeof path, "models/catalogue/%s/config.json", model);
    char *config = whole_file_read(path);
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(config, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(config);
}

void model_folder_write(char folder[64], const char *model, const char *header, int64_t data_bytes)
{
    char path[128];
    size_t length = strlen(header);
    snprintf(folder, 64, "/tmp/assay-model-XXXXXX");
    assert_non_null(mkdtemp(folder));
    config_copy(folder, model);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 8; i++) {
        assert_true(putc((int)(length >> (8 * i) & 0xFF), file) != EOF);
    }
    assert_int_equal(fwrite(header, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(path, (off_t)(8 + length) + data_bytes), 0);
}

void model_folder_make(char folder[64], const char *model, enum head head, const struct edit *edits, int edit_count)
{
    char path[128];
    struct config config;
    struct skeleton skeleton;
    struct header header = {.edits = edits, .edit_count = edit_count};
    snprintf(path, sizeof path, "models/catalogue/%s/config.json", model);
    assert_int_equal(config_read(path, model, &config, NULL), STATUS_OK);
    assert_int_equal(skeleton_build(&config, head, &skeleton, NULL), STATUS_OK);
    header_make(&header, &skeleton);
    skeleton_release(&skeleton);
    model_folder_write(folder, model, text_string(&header.text), header.end);
    text_release(&header.text);
}

void model_folder_remove(const char *folder)
{
    assert_int_equal(scratch_folder_remove(folder), 0);
}
