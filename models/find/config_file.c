/* Configuration file: from a path to a configuration. What its keys mean is config_reading.c's and each family's. */
#include "models/find/config_file.h"

#include "harness/base/json.h"
#include "models/family/config_reading.h"

enum { FILE_BYTES_MAXIMUM = 4 * 1024 * 1024 };

enum status_code config_read(const char *path, const char *name, struct config *config, struct status *error)
{
    struct json *document = NULL;
    enum status_code code = json_parse_python_file(path, FILE_BYTES_MAXIMUM, &document, error);
    if (code == STATUS_OK) {
        code = config_of_json(document, path, name, config, error);
        json_release(document);
    }
    return code;
}

bool config_file_names_unknown(const char *path)
{
    struct json *document = NULL;
    bool is_unknown = json_parse_python_file(path, FILE_BYTES_MAXIMUM, &document, NULL) == STATUS_OK &&
                      config_names_unknown(document);
    json_release(document);
    return is_unknown;
}
