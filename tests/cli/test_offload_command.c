/* assay offload: a folder of a model's weights, held against its files; what is stale, wrong or in the way; and what an
 * interrupted or failed run leaves behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "tests/models/model_folder.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

enum { PATH_BYTES = 256, WORDS_MAXIMUM = 12 };

struct scene {
    char model[64], root[64], to[80];
};

/* Gives every tensor of a model file bytes of its own. */
static void weights_fill(const char *folder, unsigned seed)
{
    char path[PATH_BYTES];
    unsigned char length[8];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fread(length, 1, 8, file), 8);
    long begin = 8 + (long)(length[0] | length[1] << 8 | length[2] << 16);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long end = ftell(file);
    assert_int_equal(fseek(file, begin, SEEK_SET), 0);
    for (long i = begin; i < end; i++) {
        seed = seed * 1664525U + 1013904223U;
        fputc((int)(seed >> 24), file);
    }
    assert_int_equal(fclose(file), 0);
}

static int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        return -1;
    }
    snprintf(scene->root, sizeof scene->root, "/tmp/assay-offload-XXXXXX");
    if (mkdtemp(scene->root) == NULL) {
        return -1;
    }
    snprintf(scene->to, sizeof scene->to, "%s/weights", scene->root);
    model_folder_make(scene->model, "tiny-gpt2", HEAD_LM, NULL, 0);
    weights_fill(scene->model, 1);
    *state = scene;
    return 0;
}

static int scene_remove(void **state)
{
    struct scene *scene = *state;
    model_folder_remove(scene->model);
    int removed = scratch_folder_remove(scene->root);
    free(scene);
    return removed;
}

/* assay offload and these words, NULL at the end; fails unless it ends so. */
static struct command_result offload(int exit_code, ...)
{
    const char *words[WORDS_MAXIMUM] = {program_path(), "offload"};
    va_list arguments;
    va_start(arguments, exit_code);
    for (int i = 2; i < WORDS_MAXIMUM - 1 && (words[i] = va_arg(arguments, const char *)) != NULL; i++) {
    }
    va_end(arguments);
    struct command_result result = command_run(words, NULL);
    if (result.exit_code != exit_code) {
        fail_msg("exit code %d instead of %d: %s%s", result.exit_code, exit_code, text_string(&result.output),
                 text_string(&result.error));
    }
    return result;
}

static void expect_in(const struct text *text, const char *words)
{
    if (strstr(text_string(text), words) == NULL) {
        fail_msg("'%s' is not in: %s", words, text_string(text));
    }
}

static void expect_same(const char *folder, const char *one, const char *other)
{
    const char *const words[] = {"cmp", one, other, NULL};
    char a[PATH_BYTES], b[PATH_BYTES];
    snprintf(a, sizeof a, "%s/%s", folder, one);
    snprintf(b, sizeof b, "%s/%s", folder, other);
    const char *const compared[] = {words[0], a, b, NULL};
    struct command_result result = command_run(compared, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void a_model_is_written_and_checked(void **state)
{
    struct scene *scene = *state;
    struct command_result result = offload(0, scene->model, "--to", scene->to, NULL);
    expect_in(&result.output, ": 29 tensors of ");
    command_result_release(&result);
    expect_same(scene->to, "lm_head.weight.dat", "transformer.wte.weight.dat"); /* tied, and stored once */
    result = offload(0, "--check", scene->to, scene->model, "--values", NULL);
    expect_in(&result.output, ": 29 tensors, ");
    expect_in(&result.output, "is there with its shape, dtype and bytes");
    command_result_release(&result);
    result = offload(0, "--check", scene->to, "tiny-gpt2", NULL); /* the catalogue knows the shapes */
    command_result_release(&result);
}

static void what_is_there_must_be_the_same(void **state)
{
    struct scene *scene = *state;
    struct command_result result = offload(0, scene->model, "--to", scene->to, "--names", "transformer.h.0", NULL);
    command_result_release(&result);
    result = offload(0, scene->model, "--to", scene->to, "--json", NULL);
    struct json *document = NULL;
    struct status error = {0};
    assert_int_equal(json_parse_text("output", text_string(&result.output), result.output.length, &document, &error),
                     STATUS_OK);
    assert_int_equal(json_integer_or(json_get(document, "kept_count"), -1), 12);
    assert_int_equal(json_integer_or(json_get(document, "written_count"), -1), 17);
    json_release(document);
    command_result_release(&result);
    weights_fill(scene->model, 2); /* trained on */
    result = offload(2, scene->model, "--to", scene->to, NULL);
    expect_in(&result.error,
              "weights/transformer.wte.weight.dat: it has other values of 'transformer.wte.weight' than");
    command_result_release(&result);
    result = offload(1, "--check", scene->to, scene->model, "--values", NULL);
    expect_in(&result.output, "; 29 things are wrong");
    expect_in(&result.output, "  values   ");
    command_result_release(&result);
    result = offload(0, scene->model, "--to", scene->to, "--replace", NULL);
    command_result_release(&result);
    result = offload(0, "--check", scene->to, scene->model, "--values", NULL);
    command_result_release(&result);
}

static void another_models_folder_is_told(void **state)
{
    struct scene *scene = *state;
    struct command_result result = offload(0, scene->model, "--to", scene->to, NULL);
    command_result_release(&result);
    result = offload(1, "--check", scene->to, "tiny-bert", "--json", NULL);
    struct json *document = NULL;
    struct status error = {0};
    assert_int_equal(json_parse_text("output", text_string(&result.output), result.output.length, &document, &error),
                     STATUS_OK);
    assert_int_equal(json_count(json_get(document, "findings")), 44);
    assert_string_equal(json_string_or(json_get(json_at(json_get(document, "findings"), 0), "kind"), ""), "missing");
    assert_int_equal(json_count(json_get(document, "remarks")), 29);
    json_release(document);
    command_result_release(&result);
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/transformer.ln_f.bias.dat", scene->to);
    assert_int_equal(truncate(path, 5), 0);
    snprintf(path, sizeof path, "%s/transformer.ln_f.weight.dat", scene->to);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/left.dat", scene->to);
    assert_int_equal(close(open(path, O_WRONLY | O_CREAT, 0666)), 0);
    result = offload(1, "--check", scene->to, scene->model, NULL);
    expect_in(&result.output, "; 2 things are wrong");
    expect_in(&result.output, "/transformer.ln_f.bias.dat: it has 5 bytes, and float32 [");
    expect_in(&result.output, "/transformer.ln_f.weight.dat: cannot be opened: No such file or directory, and ");
    expect_in(&result.output, "  stray    left\n");
    command_result_release(&result);
}

static void a_map_chooses_the_disk(void **state)
{
    struct scene *scene = *state;
    char path[PATH_BYTES], told[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/map.json", scene->root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"device_map\": {\"transformer\": 0, \"transformer.h.1\": \"disk\", \"lm_head\": \"disk\"}}", file);
    assert_int_equal(fclose(file), 0);
    struct command_result result = offload(0, scene->model, "--to", scene->to, "--map", path, NULL);
    expect_in(&result.output, ": 13 tensors of ");
    command_result_release(&result);
    assert_true(is_there(scene->to, "transformer.h.1.ln_1.weight.dat"));
    assert_true(is_there(scene->to, "lm_head.weight.dat"));
    assert_false(is_there(scene->to, "transformer.h.0.ln_1.weight.dat"));
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"\": \"cpu\"}", file);
    assert_int_equal(fclose(file), 0);
    result = offload(2, scene->model, "--to", scene->to, "--map", path, NULL);
    snprintf(told, sizeof told, "%s:1:1: this device map gives no tensor of ", path);
    expect_in(&result.error, told);
    command_result_release(&result);
}

static void mistakes_are_told(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *words[5], *told;
    } rows[] = {
        {{NULL}, "write assay offload MODEL --to DIR, or assay offload --check DIR [MODEL]"},
        {{"tiny-gpt2", NULL}, "write assay offload MODEL --to DIR"},
        {{"tiny-gpt2", "--to", "/nonexistent/x", NULL}, "tiny-gpt2 is a configuration without model files; name"},
        {{"--check", "/nonexistent/x", NULL}, "/nonexistent/x: there is no such folder; assay offload MODEL --to"},
        {{"--check", "/nonexistent/x", "--replace", NULL}, "--replace belongs to writing, and --check writes nothing"},
        {{"tiny-gpt2", "--values", NULL}, "--values goes with --check DIR MODEL"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const *words = rows[i].words;
        struct command_result result = offload(2, words[0], words[1], words[2], words[3], NULL);
        expect_in(&result.error, rows[i].told);
        assert_int_equal(result.output.length, 0);
        command_result_release(&result);
    }
    struct command_result result = offload(2, scene->model, "--to", scene->to, "--names", "transformer.h", "nix", NULL);
    expect_in(&result.error, "--names: no tensor of ");
    expect_in(&result.error,
              " is nix or below it; write a tensor's name or a module's path, such as transformer.wte.weight");
    command_result_release(&result);
    assert_false(is_there(scene->root, "weights"));
}

/* -- what is left behind */

static char *checkpoint_sum(const struct scene *scene)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/model.safetensors", scene->model);
    const char *const words[] = {"cksum", path, NULL};
    struct command_result result = command_run(words, NULL);
    char *sum = strdup(text_string(&result.output));
    command_result_release(&result);
    return sum;
}

static void expect_nothing_left(struct scene *scene, const char *sum_before)
{
    char *sum = checkpoint_sum(scene);
    assert_string_equal(sum, sum_before);
    free(sum);
    assert_false(is_there(scene->root, "weights"));
}

static void a_disk_that_takes_no_more_leaves_nothing(void **state)
{
    struct scene *scene = *state;
    char command[2 * PATH_BYTES];
    char *sum = checkpoint_sum(scene);
    snprintf(command, sizeof command, "ulimit -f 4; exec %s offload %s --to %s", program_path(), scene->model,
             scene->to);
    const char *const words[] = {"sh", "-c", command, NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 2);
    expect_in(&result.error, "/weights/transformer.");
    expect_in(&result.error, ".dat: cannot be written: File too large");
    command_result_release(&result);
    expect_nothing_left(scene, sum);
    free(sum);
}

static void an_interrupted_run_leaves_nothing(void **state)
{
    struct scene *scene = *state;
    char *sum = checkpoint_sum(scene), told[PATH_BYTES] = "", path[PATH_BYTES];
    int status = 0;
    snprintf(path, sizeof path, "%s/told", scene->root);
    pid_t child = fork();
    if (child == 0) { /* the signal is there before the program begins, and waits until it looks */
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGTERM);
        int file = open(path, O_WRONLY | O_CREAT, 0666);
        dup2(file, STDERR_FILENO);
        execl(program_path(), program_path(), "offload", scene->model, "--to", scene->to, (char *)NULL);
        _exit(127);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(told, 1, sizeof told - 1, file) > 0);
    fclose(file);
    assert_string_equal(told, "assay: offload: interrupted; assay has removed what it had written\n");
    expect_nothing_left(scene, sum);
    free(sum);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_make, scene_remove)
    const struct CMUnitTest tests[] = {
        TEST(a_model_is_written_and_checked),
        TEST(what_is_there_must_be_the_same),
        TEST(another_models_folder_is_told),
        TEST(a_map_chooses_the_disk),
        TEST(mistakes_are_told),
        TEST(a_disk_that_takes_no_more_leaves_nothing),
        TEST(an_interrupted_run_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
