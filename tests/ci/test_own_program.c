/* The guide to a gate for one's own PyTorch program: its program and its lines for CI are taken out of the page and
 * run, night after night, with a torch that answers without a GPU. What a real one counts is peers/pytorch's affair.
 * */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "tests/ci/workflow_scene.h"
#include "tests/support/command_run.h"

/* A module in torch's place. $TAKES: the bytes that it counts; $ENDS: how a step ends. */
static const char torch[] =
    "import os, sys\n"
    "from unittest.mock import MagicMock\n"
    "torch = MagicMock(__version__='2.11.0')\n"
    "torch.cuda.OutOfMemoryError = type('OutOfMemoryError', (RuntimeError,), {})\n"
    "torch.version.cuda = '13.0'\n"
    "torch.cuda.get_device_properties.return_value = device = MagicMock(major=9, minor=0, "
    "total_memory=85 * 10**9)\n"
    "device.name = 'NVIDIA H100 80GB HBM3'\n"
    "takes = int(os.environ['TAKES'])\n"
    "torch.cuda.memory_stats.return_value = {level + '_bytes.all.peak': takes + more for level, "
    "more in (('requested', 0), ('allocated', 512), ('reserved', 2097152))}\n"
    "def step(*sizes, device):\n"
    "    if os.environ.get('ENDS') == 'oom':\n"
    "        raise torch.cuda.OutOfMemoryError('tried to allocate 2.00 GiB')\n"
    "    if os.environ.get('ENDS') == 'killed':\n"
    "        os._exit(137)\n"
    "torch.randn.side_effect = step\n"
    "if os.environ.get('ENDS') == 'begin':\n"
    "    sys.exit('no GPU')\n"
    "sys.modules['torch'] = torch\n";

static void scene_make(const struct scratch_scene *scene)
{
    char path[128];
    command_needed("python3");
    workflow_scene_make(scene);
    snprintf(path, sizeof path, "%s/torch.py", scene->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(torch, file);
    assert_int_equal(fclose(file), 0);
    workflow_expect(
        scene,
        "sed -n '/^```python$/,/^```$/p' \"$1/docs/guides/own-program.md\" | sed '/^```/d' >train.py && "
        "sed -n '/^## In CI$/,$p' \"$1/docs/guides/own-program.md\" | sed -n '/^```$/,/^```$/p' | "
        "sed \"/^\\`\\`\\`/d; s|/usr/local/share/assay/peers/pytorch|installed:.|; "
        "s|installed:./|installed/|\" >night.sh && mkdir installed && (cd \"$1/peers/pytorch\" && cp own_program.py "
        "truth_records.py whole_file.py \"$2/installed\") && grep -c 'assay gate' night.sh",
        0, "1\n");
}

/* With what `make install` installs, and no more. settings: of the module above. */
static void night_expect(const struct scratch_scene *scene, const char *settings, int exit_code, const char *said)
{
    char line[256];
    snprintf(line, sizeof line, "sleep 1; PYTHONDONTWRITEBYTECODE=1 %s sh night.sh", settings);
    workflow_expect(scene, line, exit_code, said);
}

static void a_program_is_gated_by_what_torch_counts(void **state)
{
    const struct scratch_scene *scene = *state;
    scene_make(scene);
    night_expect(scene, "TAKES=300000000", 6, "0 figures judged");
    night_expect(scene, "TAKES=300000000", 0, "GO: 1 case held against the baseline");
    night_expect(scene, "TAKES=300000001", 1, "NO-GO: 1 of 1 cases is beyond its bounds");
    night_expect(scene, "TAKES=300000000 ENDS=oom", 1, "ok in the baseline, now oom");
    night_expect(scene, "TAKES=300000000", 0, "GO: 1 case held against the baseline");
}

static void a_program_that_dies_is_no_night(void **state)
{
    const struct scratch_scene *scene = *state;
    scene_make(scene);
    night_expect(scene, "TAKES=300000000", 6, "");
    night_expect(scene, "TAKES=300000000 ENDS=killed", 7, "INCOMPLETE");
    night_expect(scene, "TAKES=300000000 ENDS=begin", 1, "");
    night_expect(scene, "TAKES=300000000", 0, "GO: 1 case held against the baseline");
    /* All was measured, and then the program failed. */
    workflow_expect(scene, "echo 'sys.exit(9)' >>train.py", 0, "");
    night_expect(scene, "TAKES=300000000", 9, "GO: 1 case held against the baseline");
}

/* What the class writes is what the page says that it writes. */
static void its_lines_are_those_of_the_page(void **state)
{
    const struct scratch_scene *scene = *state;
    scene_make(scene);
    night_expect(scene, "TAKES=300000000", 6, "");
    workflow_expect(
        scene,
        "sed -E 's/20[-0-9T:]*Z/TIME/; s/\"seconds\":[0-9.]*/\"seconds\":0/; s/\"driver\":[^}]*/\"driver\":null/' "
        "night/lines.jsonl",
        0,
        "{\"type\":\"run\",\"started\":\"TIME\",\"suite\":{\"name\":\"my-training\"},\"torch\":\"2.11.0\","
        "\"cuda\":\"13.0\",\"device\":{\"name\":\"NVIDIA H100 80GB HBM3\",\"capability\":\"9.0\","
        "\"total_bytes\":85000000000,\"driver\":null}}\n"
        "{\"type\":\"case\",\"id\":\"linear/train/b8\",\"identity\":{\"model\":\"linear\",\"mode\":\"train\","
        "\"precision\":\"float32\"},\"status\":\"ok\",\"error\":null,\"stages\":{\"step\":{"
        "\"requested_bytes_peak\":300000000,\"allocated_bytes_peak\":300000512,\"reserved_bytes_peak\":"
        "302097152}},\"seconds\":0}\n"
        "{\"type\":\"end\",\"finished\":\"TIME\",\"of\":1}\n");
}

static void lines_that_say_nothing_are_refused(void **state)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        {"{\"type\":\"case\",\"id\":\"a\",\"status\":\"ok\",\"stages\":{\"my-step\":{\"allocated_bytes_peak\":1}}}",
         "case a: it is ok and has no stage; name one of load, forward, backward, step, generate"},
        {"{\"type\":\"case\",\"status\":\"ok\",\"stages\":{}}", "not lines that truth.py wrote: KeyError('id')"},
    };
    const struct scratch_scene *scene = *state;
    scene_make(scene);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 "printf '%%s\\n' '{\"type\":\"run\",\"started\":\"2026-11-20T02:00:00Z\",\"suite\":{\"name\":\"s\"},"
                 "\"torch\":\"2\"}' '%s' >l.jsonl; python3 \"$1/peers/pytorch/truth_records.py\" l.jsonl --out r 2>&1",
                 rows[i].line);
        workflow_expect(scene, line, 1, rows[i].said);
    }
    workflow_expect(scene, "test ! -e r", 0, "");
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_program_is_gated_by_what_torch_counts),
        SCENE_TEST(a_program_that_dies_is_no_night),
        SCENE_TEST(its_lines_are_those_of_the_page),
        SCENE_TEST(lines_that_say_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
