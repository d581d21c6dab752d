/* What ci/gpu.sh is made of, one by one: a wait with an end, the client that keeps a GPU awake, the line with the
 * result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

static char folder[] = "/tmp/assay-gpu-XXXXXX";

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

/* Runs a script of sh with the scratch folder as its first word; what it printed and how it ended. */
static void script_gives(const char *script, int exit_code, const char *printed)
{
    const char *const words[] = {"sh", "-c", script, "sh", folder, NULL};
    struct command_result result = command_run(words, NULL);
    if (result.exit_code != exit_code || strcmp(text_string(&result.output), printed) != 0) {
        fail_msg("exit code %d, printed:\n%s%s\nof: %s", result.exit_code, text_string(&result.output),
                 text_string(&result.error), script);
    }
    command_result_release(&result);
}

static void a_wait_has_an_end(void **state)
{
    (void)state;
    script_gives("ci/within.sh 60 sh -c 'echo said; exit 7'", 7, "said\n");
    script_gives("ci/within.sh 1 sleep 60", 124, "");
    /* who watches over it is stopped, and so sends no signal */
    script_gives("ci/within.sh 1 sh -c 'echo $$ >\"$0/stopped\"; kill -STOP $PPID; exec sleep 60' \"$1\"; code=$?\n"
                 "kill -KILL \"$(cat \"$1/stopped\")\" && exit $code",
                 137, "");
    /* and nothing ends it */
    script_gives("sh -c 'kill() { [ \"$1\" != -KILL ] || return 0; command kill \"$@\"; }; . \"$0\"' ci/within.sh 1 "
                 "sh -c 'echo $$ $PPID >\"$0/stuck\"; kill -STOP $PPID; exec sleep 60' \"$1\" 2>/dev/null; code=$?\n"
                 "kill -KILL $(cat \"$1/stuck\") 2>/dev/null; exit $code",
                 119, "");
}

/* Each part has its own seconds if the whole run has the eight minutes that docs/GPU.md promises. */
static void the_parts_fit_the_time_of_the_run(void **state)
{
    (void)state;
    script_gives(
        "sed -n '/^parts=/,/^$/p' ci/gpu.sh | tr -d \"'\" | awk '{ sum += $3 } END { print (NR > 10), (sum <= 480) }'",
        0, "1 1\n");
}

/* What a command has left behind holds the pipe of $(...) open; nobody waits for it. */
static void what_was_printed_is_not_waited_for(void **state)
{
    (void)state;
    script_gives("left=$(ci/within.sh --print 60 sh -c 'sleep 60 & echo $!') && kill \"$left\" && echo alive", 0,
                 "alive\n");
}

/* A driver that does not answer, and a tool that heeds no signal but the last; a second instead of the twenty. */
static void a_driver_that_does_not_answer_is_not_waited_for(void **state)
{
    (void)state;
    script_write(folder, "timeout", "shift 3; exec \"$(PATH=/usr/bin:/bin command -v timeout)\" -k 1 1 \"$@\"");
    script_write(folder, "nvidia-smi", "trap '' TERM; echo \"$*\" >>\"${0%/*}/asked\"; while :; do sleep 1; done");
    script_gives("PATH=$1:$PATH CUDA_VISIBLE_DEVICES=0 ci/gpu-here.sh >/dev/null; grep -c query-gpu \"$1/asked\"", 0,
                 "1\n");
}

#define SOURCED                                                                                                        \
    "device=cuda:0 scratch=$1 out=$1 run_seconds_maximum=60 need_all=no; . ci/gpu-device.sh; . ci/gpu-verdict.sh\n"    \
    "device_files=$1/dev gpu_uuid=GPU-1 PATH=$1:$PATH; mkdir -p \"$1/dev\"\n"

/* The device file of the GPU, which the driver names; of the only one, if it does not. */
static void a_client_keeps_the_gpu_awake(void **state)
{
    (void)state;
    static const char held[] =
        "client_hold >/dev/null\n"
        "if [ -e \"$scratch/client\" ]; then pid=$(cat \"$scratch/client\")\n"
        "until [ \"$(cat /proc/$pid/comm)\" = sleep ]; do :; done; basename \"$(readlink /proc/$pid/fd/0)\"\n"
        "client_release; wait $pid; kill -0 $pid 2>/dev/null && echo alive; fi; exit 0";
    char script[2048];
    script_write(folder, "nvidia-smi", "case \"$*\" in '-q -i GPU-1') echo '    Minor Number      : 3' ;; esac");
    snprintf(script, sizeof script, SOURCED ": >\"$1/dev/nvidia0\"; : >\"$1/dev/nvidia3\"; : >\"$1/dev/nvidiactl\"\n%s",
             held);
    script_gives(script, 0, "nvidia3\n");
    script_write(folder, "nvidia-smi", "echo 'no such GPU'; exit 6");
    script_gives(script, 0, ""); /* which of the two is not known */
    snprintf(script, sizeof script, SOURCED "rm \"$1/dev/nvidia3\"\n%s", held);
    script_gives(script, 0, "nvidia0\n");
    snprintf(script, sizeof script, SOURCED "rm \"$1/dev/nvidia0\"\n%s", held);
    script_gives(script, 0, "");
}

/* Some 600 seconds of one core, and half as much again. */
static void the_build_has_as_long_as_the_cores_need(void **state)
{
    (void)state;
    script_gives(". ci/gpu-build.sh; build_seconds_of 1; build_seconds_of 2; build_seconds_of 16", 0,
                 "1020\n570\n176\n");
    script_write(folder, "nproc", "echo 64");
    script_gives("PATH=$1:$PATH; . ci/gpu-build.sh; [ \"$(cores_here)\" -le 64 ] && [ \"$(cores_here)\" -ge 1 ]", 0,
                 "");
}

/* Rows of exit code, part, cause, sentence; whether anything was measured, and with which GPU. */
static void the_worst_comes_first(void **state)
{
    (void)state;
    static const struct {
        const char *codes, *measured, *gpu, *verdict;
    } rows[] = {
        {"0 a|77 b", "a", "yes", "0 pass"},
        {"0 a", "a", "no", "0 pass on the host, there is no GPU"},
        {"77 a|77 b", "", "yes", "77 skipped"},
        {"0 a|3 b time", "a", "yes", "0 pass; had no time: b"},
        {"0 a|3 b time", "", "yes", "3 inconclusive, had no time: b"},
        {"3 build time|3 b time", "a", "yes", "3 inconclusive, had no time: build, b"},
        {"0 a|3 b unjudged|3 c", "a", "yes", "3 inconclusive: c; not judged: b"},
        {"3 a disturbed who|3 b time|3 c disturbed other|3 d stuck", "a", "yes",
         "3 inconclusive, the driver is stuck: d; disturbed (who): a, c; had no time: b"},
        {"1 a host|1 b gpu|3 c interrupted", "a", "yes", "1 FAIL on the GPU: b; on the host alone: a; interrupted: c"},
        {"1 a host|3 c", "a", "yes", "1 FAIL on the host alone: a; open: c"},
        {"2 a|1 b gpu", "a", "yes", "2 FAIL: usage: a; on the GPU: b"},
        {"99 a|2 b|1 c", "a", "no", "99 FAIL: a fault of the program: a; usage: b; open: c"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char script[1024], printed[256];
        snprintf(script, sizeof script,
                 SOURCED "echo '%s' | tr '| ' '\\n\\t' >\"$1/codes\"; echo %s >\"$1/measured\"; echo %s >\"$1/gpu\"\n"
                         "code=$(verdict_code); echo \"$code $(verdict_words \"$code\")\"",
                 rows[i].codes, rows[i].measured, rows[i].gpu);
        snprintf(printed, sizeof printed, "%s\n", rows[i].verdict);
        script_gives(script, 0, printed);
    }
}

#define PARTS_SOURCED                                                                                                  \
    SOURCED ". ci/gpu-time.sh; . ci/gpu-parts.sh; . ci/gpu-peers.sh; gpu=yes; : >\"$1/cause\"; : >\"$1/remark\"\n"

/* The exit code of a run, the statuses of its cases ("disturbed": ok, and somebody else was there), whether a GPU is
 * used; what becomes of the code, and the cause. */
static void the_records_decide_over_a_run(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *cases, *gpu, *decision;
    } rows[] = {
        {0, "ok ok", "yes", "0"},
        {3, "ok oom", "yes", "1"}, /* --fitting has said that it fits */
        {3, "ok skip", "yes", "3"},
        {3, "ok timeout", "yes", "3 time"},
        {3, "oom timeout", "yes", "1"},
        {3, "oom disturbed", "yes", "3 disturbed"}, /* nobody knows whose bytes were wanting */
        {3, "oom disturbed", "no", "1"},
        {1, "fail disturbed", "yes", "1"},
        {1, "ok disturbed", "yes", "3 disturbed"},
        {3, "error ok", "yes", "1"},
        {2, "oom", "yes", "2"},
        {99, "", "yes", "99"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char script[2048], printed[64];
        snprintf(script, sizeof script,
                 PARTS_SOURCED
                 "gpu=%s; for word in %s; do case $word in\n"
                 "disturbed) echo '\"type\": \"case\", \"status\": \"ok\", \"validity\": {\"valid\": false, "
                 "\"reasons\": [\"who\"]}' ;;\n"
                 "*) echo '\"type\": \"case\", \"status\": \"'$word'\"' ;; esac; done >\"$1/records\"\n"
                 "run_code %d \"$1/records\"; echo $? $(cut -f 1 \"$1/cause\")",
                 rows[i].gpu, rows[i].cases, rows[i].code);
        snprintf(printed, sizeof printed, "%s\n", rows[i].decision);
        script_gives(script, 0, printed);
    }
}

/* PyTorch's bytes are held against ours where its release is followed and the class of the GPU is known. */
static void a_class_that_nobody_knows_is_not_judged(void **state)
{
    (void)state;
    static const struct {
        const char *torch, *target;
        int compared;
        const char *decision;
    } rows[] = {
        {"$release", "sm_90", 0, "0"},
        {"$release", "sm_90", 1, "1"},
        {"$release", "sm_90", 3, "3"},
        {"$release", "sm_7", 1, "3 unjudged the class sm_7"},
        {"$release", "sm_7", 0, "0"},
        {"$release", "", 1, "3 unjudged the class that has no name"},
        {"1.2", "sm_90", 1, "3 unjudged the torch is 1.2,"},
    };
    script_write(folder, "python", "exit 0");
    char built[64];
    snprintf(built, sizeof built, "%s/build", folder);
    assert_int_equal(mkdir(built, 0700), 0);
    script_write(built, "assay",
                 "case $1 in gpus) echo '\"target\": \"sm_90\"' ;; *) echo compared; exit \"$compared\" ;; esac");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char script[2048], printed[96];
        snprintf(script, sizeof script,
                 PARTS_SOURCED "limited() { \"$@\"; }; python=$1/python build=$1/build gpu_target=%s\n"
                               "release=$(sed -n 's/.* follows transformers [0-9.]*, torch \\([0-9.]*\\) .*/\\1/p' "
                               "docs/RELEASES.md); echo \"\\\"torch\\\": \\\"%s.0\\\"\" >\"$1/truth.jsonl\"\n"
                               "echo x >\"$1/records.jsonl\"; : >\"$1/codes\"; export compared=%d\n"
                               "part_compare >/dev/null; echo $? $(cut -f 1 \"$1/cause\") "
                               "$(grep -o 'the class .*\\|the torch is [^ ]*' \"$1/remark\")",
                 rows[i].target, rows[i].torch, rows[i].compared);
        snprintf(printed, sizeof printed, "%s\n", rows[i].decision);
        script_gives(script, 0, printed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_fit_the_time_of_the_run),
        cmocka_unit_test(a_wait_has_an_end),
        cmocka_unit_test(what_was_printed_is_not_waited_for),
        cmocka_unit_test(a_driver_that_does_not_answer_is_not_waited_for),
        cmocka_unit_test(a_client_keeps_the_gpu_awake),
        cmocka_unit_test(the_build_has_as_long_as_the_cores_need),
        cmocka_unit_test(the_worst_comes_first),
        cmocka_unit_test(the_records_decide_over_a_run),
        cmocka_unit_test(a_class_that_nobody_knows_is_not_judged),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
