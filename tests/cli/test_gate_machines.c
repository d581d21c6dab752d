/* assay gate and machines that take turns: nights on another number of threads, or for another class of GPU, are a
 * series of their own in one history, and how a run is measured is part of what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* NIGHT NAME DAY CHANGE: records of that day, with a run_id of its own, changed by sed, put into the history. */
#define NIGHTS                                                                                                         \
    "printf 'version: 1\\nname: night\\ncases:\\n  - {model: tiny-gpt2, mode: load}\\n' >night.yaml; "                 \
    "night() { mkdir $1; sed -E \"s/(started.: .)[-0-9]*T[:0-9]*/\\12026-12-0$2T02:00:00/; "                           \
    "s/(.run_id.: .)..../\\1444$2/; $3\" base/records.jsonl >$1/records.jsonl; }; "                                    \
    "keep() { \"$assay\" history import $1 --database h.db >/dev/null || echo lost; }; "                               \
    "held() { \"$assay\" gate $1 --baseline latest --history h.db $2 >page 2>&1; code=$?; "                            \
    "sed -n 's/^baseline: .*run \\(444.\\).*/\\1/p; s/^baseline: none.*/none/p' page; echo $code; }; "

static void says(const struct scratch_scene *scene, const char *script, const char *output)
{
    char *program = realpath(program_path(), NULL);
    struct text text = {0};
    assert_non_null(program);
    text_format(&text, "assay='%s'; cd '%s' || exit 9; %s", program, scene->folder, script);
    struct command_result result = command_run((const char *const[]){"sh", "-c", text_string(&text), NULL}, NULL);
    if (strcmp(text_string(&result.output), output) != 0) {
        fail_msg("%s\n%s", text_string(&result.output), text_string(&result.error));
    }
    command_result_release(&result);
    text_release(&text);
    free(program);
}

static void threads_are_series_of_their_own(void **state)
{
    says(*state,
         NIGHTS "\"$assay\" run night.yaml --device host --out base --records-only --quiet >/dev/null; "
                "few='s/(.threads.: )[0-9]+/\\18/g'; many='s/(.threads.: )[0-9]+/\\164/g'; "
                "other='s/(.threads.: )[0-9]+/\\13/g'; "
                "night one 1 \"$few\"; night two 2 \"$many\"; night three 3 \"$few\"; night four 4 \"$many\"; "
                "night five 5 \"$other\"; keep one; keep two; "
                "held three; held four; held three '--allow threads'; held five",
         "4441\n0\n4442\n0\n4442\n0\nnone\n0\n");
}

static void classes_of_gpus_are_series_of_their_own(void **state)
{
    says(*state,
         NIGHTS "\"$assay\" run night.yaml --device meta --out base --records-only --quiet >/dev/null; "
                "other='s/sm_90/sm_80/g'; night one 1; night two 2 \"$other\"; night three 3; night four 4 \"$other\"; "
                "keep one; keep two; held three; held four; held three '--allow device'",
         "4441\n0\n4442\n0\n4442\n0\n");
}

/* Each option that loosens what is measured or judged, by itself. */
static void each_loosening_is_inconclusive_until_it_is_allowed(void **state)
{
    says(*state,
         NIGHTS
         "run() { \"$assay\" run night.yaml --device host --out $1 --records-only --quiet $2 >/dev/null 2>&1; }; "
         "run base; gate() { \"$assay\" gate $1 --baseline base $2 >page 2>&1; echo $?; }; "
         "try() { run with-$1 \"$2\"; gate with-$1; gate with-$1 \"--allow $1\"; }; "
         "try constants '--constants none'; try note-calibrated --note-calibrated; try fitting --fitting; "
         "try prove --prove; try jobs '--jobs 2'; try repeat '--repeat 2'",
         "3\n0\n3\n0\n3\n0\n3\n0\n3\n0\n3\n0\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(threads_are_series_of_their_own),
        TEST(classes_of_gpus_are_series_of_their_own),
        TEST(each_loosening_is_inconclusive_until_it_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
