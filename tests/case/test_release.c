/* The register of releases: how a case names them, what is refused, from when until when a habit holds, and that
 * docs/RELEASES.md has the rows of the register and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/text.h"
#include "harness/case/release.h"
#include "harness/case/workload.h"

static bool has(const char *release, const char *model_type, enum release_habit habit)
{
    struct workload workload = workload_default(MODE_INFER);
    assert_int_equal(workload_set(&workload, "release", release, NULL), STATUS_OK);
    return release_has(&workload, model_type, habit);
}

static void a_habit_holds_in_its_releases_and_with_its_models(void **state)
{
    (void)state;
    const struct workload now = workload_default(MODE_INFER);
    for (int habit = 0; habit < RELEASE_HABIT_COUNT; habit++) {
        assert_false(release_has(&now, "llama", (enum release_habit)habit));
        assert_false(has("transformers=5.23+torch=2.11+bitsandbytes=0.50", "llama", (enum release_habit)habit));
    }
    assert_true(has("transformers=4.44", "llama", RELEASE_LOGITS_FLOAT32));
    assert_true(has("transformers=4.44.2", "qwen2", RELEASE_LOGITS_FLOAT32));
    assert_false(has("transformers=4.45.0", "llama", RELEASE_LOGITS_FLOAT32));
    assert_false(has("transformers=4.44", "gpt2", RELEASE_LOGITS_FLOAT32));
    assert_false(has("torch=2.1", "llama", RELEASE_LOGITS_FLOAT32));
    assert_false(has("transformers=4.47", "llama", RELEASE_HEADS_CONTIGUOUS)); /* a habit that came and went */
    assert_true(has("transformers=4.48", "llama", RELEASE_HEADS_CONTIGUOUS));
    assert_false(has("transformers=4.56", "llama", RELEASE_HEADS_CONTIGUOUS));
    assert_false(has("transformers=4.40", "qwen2", RELEASE_ROTARY_IN_LAYERS)); /* words are whole */
}

static void releases_are_read_by_library(void **state)
{
    (void)state;
    struct release_numbers both = release_numbers_of("transformers=4.38.2+torch=2.1");
    assert_int_equal(both.of[LIBRARY_TRANSFORMERS], 4038);
    assert_int_equal(both.of[LIBRARY_TORCH], 2001);
    assert_int_equal(release_numbers_of("torch=2.10.0").of[LIBRARY_TORCH], 2010);
    assert_int_equal(release_numbers_of("torch=2.4+bitsandbytes=0.41.1").of[LIBRARY_BITSANDBYTES], 41);
    assert_true(has("bitsandbytes=0.42", "llama", RELEASE_INPUTS_KEPT));
    assert_false(has("bitsandbytes=0.43.2", "llama", RELEASE_INPUTS_KEPT));
    assert_true(has("torch=2.4+bitsandbytes=0.49", "llama", RELEASE_ROWS_UNFUSED));
    assert_int_equal(release_numbers_of("torch=2.10.0").of[LIBRARY_TRANSFORMERS], release_numbers_of(NULL).of[0]);
}

static void what_is_no_release_is_refused_with_the_remedy(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"transformers=4.30", "release: '4.30' of transformers is before the releases that are known; write one from "
                              "4.31 to 5.23, or leave it out for 5.23"},
        {"torch=2.0.1", "release: '2.0.1' of torch is before the releases that are known; write one from 2.1 to 2.11, "
                        "or leave it out for 2.11"},
        {"transformers=5.24", "release: '5.24' of transformers is newer than the release that the tape follows; write "
                              "one from 4.31 to 5.23, or leave it out for 5.23"},
        {"transformers=new", "release: 'new' of transformers is not a release; write one from 4.31 to 5.23, or leave "
                             "it out for 5.23"},
        {"transformers=4.38 ", "release: '4.38 ' of transformers is not a release; write one from 4.31 to 5.23, or "
                               "leave it out for 5.23"},
        {"transformers", "release: '' of transformers is not a release; write one from 4.31 to 5.23, or leave it out "
                         "for 5.23"},
        {"4.46", "release: '4.46' names no library that is known; write transformers=4.46, torch=2.1, "
                 "bitsandbytes=0.41 or transformers=4.46+torch=2.1"},
        {"torch=2.1+transformers=4.46", "release: torch=2.1+transformers=4.46 names a library twice, or in "
                                        "another order; write transformers=4.46+torch=2.1+bitsandbytes=0.41"},
        {"torch=2.1+torch=2.2", "release: torch=2.1+torch=2.2 names a library twice, or in another order; write "
                                "transformers=4.46+torch=2.1+bitsandbytes=0.41"},
        {"bitsandbytes=0.40", "release: '0.40' of bitsandbytes is before the releases that are known; write one from "
                              "0.41 to 0.50, or leave it out for 0.50"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct workload workload = workload_default(MODE_INFER);
        struct status error = {0};
        assert_int_equal(workload_set(&workload, "release", refused[i][0], &error), STATUS_INVALID);
        assert_string_equal(error.text, refused[i][1]);
    }
}

/* "| until 4.45 | transformers | what | models | source |" */
static void row_write(const struct release_change *change, struct text *row)
{
    char since[32] = "";
    if (change->since > 0) {
        snprintf(since, sizeof since, "from %d.%d ", change->since / 1000, change->since % 1000);
    }
    text_format(row, "| %s %sbefore %d.%d | %s | %s | %s |\n", release_library_name(change->library), since,
                change->until / 1000, change->until % 1000, release_habit_text(change->habit),
                change->model_types != NULL ? change->model_types : "all", change->source);
}

static void the_page_has_the_register(void **state)
{
    (void)state;
    struct text rows = {0};
    static char page[1 << 16];
    FILE *file = fopen("docs/RELEASES.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    for (size_t i = 0; release_change_at(i) != NULL; i++) {
        row_write(release_change_at(i), &rows);
    }
    const char *first = strstr(page, "| transformers before");
    if (first == NULL || strncmp(first, text_string(&rows), rows.length) != 0) {
        fputs(text_string(&rows), stdout); /* longer than a message may be */
        fflush(stdout);
        fail_msg("docs/RELEASES.md does not have the rows of harness/case/release.c, which are printed above");
    }
    assert_true(first[rows.length] == '\n');
    text_release(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_habit_holds_in_its_releases_and_with_its_models),
        cmocka_unit_test(releases_are_read_by_library),
        cmocka_unit_test(what_is_no_release_is_refused_with_the_remedy),
        cmocka_unit_test(the_page_has_the_register),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
