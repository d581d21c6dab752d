/* Chains against the real cpu_offload_with_hook: peers/placement/dispatch-*.jsonl has what each device held in a turn
 * of models that send each other back to the host. And what a chain says by itself: the same numbers, who is where,
 * what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/replay/placed_replay.h"
#include "models/find/catalogue.h"
#include "models/workload/workload_chain.h"
#include "models/workload/workload_tape.h"
#include "tests/models/remembering_device.h"
#include "tests/models/shadow_lines.h"

static const char *lines_path = "peers/placement/dispatch-torch-2.11.0-transformers-5.23.0-accelerate-1.15.0.jsonl";

/* -- a chain of models */

struct scene {
    struct config configs[CHAIN_LINKS_MAXIMUM];
    struct skeleton skeletons[CHAIN_LINKS_MAXIMUM];
    struct workload workloads[CHAIN_LINKS_MAXIMUM];
    struct chain_link links[CHAIN_LINKS_MAXIMUM];
    struct chain_plan plan;
    struct tape *tape;
    struct tape_view view;
};

static void scene_add(struct scene *scene, const char *model, const struct workload *workload)
{
    struct status error = {0};
    int at = scene->plan.link_count++;
    scene->workloads[at] = *workload;
    assert_int_equal(config_find("models/catalogue", model, &scene->configs[at], &error), STATUS_OK);
    assert_int_equal(workload_skeleton(&scene->configs[at], workload, &scene->skeletons[at], &error), STATUS_OK);
    scene->links[at] = (struct chain_link){&scene->configs[at], &scene->skeletons[at], &scene->workloads[at]};
    scene->plan.links = scene->links;
}

static enum status_code scene_try(struct scene *scene, const char *target_name, struct status *error)
{
    const struct target *target = NULL;
    assert_int_equal(target_find(target_name, &target, error), STATUS_OK);
    return workload_tape_chain(&scene->plan, target, &scene->tape, error);
}

static void scene_build(struct scene *scene, const char *target_name)
{
    struct status error = {0};
    if (scene_try(scene, target_name, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    scene->view = tape_view(scene->tape);
}

static void scene_close(struct scene *scene)
{
    tape_release(scene->tape);
    for (int i = 0; i < scene->plan.link_count; i++) {
        skeleton_release(&scene->skeletons[i]);
    }
}

static struct workload small_workload(void)
{
    struct workload workload = workload_default(MODE_INFER);
    workload.batch = 2;
    workload.seq = 6;
    return workload;
}

/* -- the bytes of the real one */

struct turn_figures {
    int64_t load[CHAIN_PLACES], live[CHAIN_PLACES], peak[CHAIN_PLACES];
};

/* Of the last turn, without workspaces, which no dispatcher sees. load: before the first turn, with what the models are
 * fed. */
static struct turn_figures figures_of(const struct tape_view *view, int link_count)
{
    struct turn_figures figures = {0};
    int passes = 0; /* forward stages that have begun; the first one makes what the models are fed */
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind == EVENT_STAGE && event.index == STAGE_FORWARD) {
            passes++;
            if (passes == 2) {
                memcpy(figures.load, figures.live, sizeof figures.load);
            }
            if (passes == 2 + link_count) {
                memcpy(figures.peak, figures.live, sizeof figures.peak);
            }
        }
        bool is_memory = event.kind == EVENT_ALLOC || event.kind == EVENT_FREE;
        const struct storage *storage = is_memory ? &view->storages[event.index] : NULL;
        if (!is_memory || storage->category == CATEGORY_WORKSPACE) {
            continue;
        }
        int64_t *live = &figures.live[storage->place];
        *live += event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
        figures.peak[storage->place] = *live > figures.peak[storage->place] ? *live : figures.peak[storage->place];
    }
    assert_int_equal(passes, 1 + CHAIN_TURNS * link_count);
    return figures;
}

static int differing;

static void line_compare(const struct json *line, const struct turn_figures *ours)
{
    static const char *const devices[CHAIN_PLACES] = {[CHAIN_DEVICE] = "cuda:0", [CHAIN_HOST] = "cpu"};
    for (int place = 0; place < CHAIN_PLACES; place++) {
        const struct {
            const char *key;
            int64_t bytes;
        } figures[] = {{"load", ours->load[place]}, {"peak", ours->peak[place]}, {"end", ours->live[place]}};
        for (int i = 0; i < 3; i++) {
            int64_t theirs = json_integer_or(json_get(json_get(line, figures[i].key), devices[place]), 0);
            if (figures[i].bytes != theirs) {
                print_error("%s batch %d, offload_last %d: %s %s: %lld, accelerate %lld\n",
                            json_string_or(json_at(json_get(line, "chain"), 0), ""),
                            (int)json_integer_or(json_get(line, "batch"), 0),
                            json_boolean_or(json_get(line, "offload_last"), false), devices[place], figures[i].key,
                            (long long)figures[i].bytes, (long long)theirs);
                differing++;
            }
        }
    }
}

static bool line_check(const struct json *line)
{
    const struct json *names = json_get(line, "chain");
    struct scene scene = {0};
    struct workload workload = workload_default(MODE_INFER);
    if (names == NULL) {
        return false;
    }
    workload.batch = json_integer_or(json_get(line, "batch"), 0);
    workload.seq = json_integer_or(json_get(line, "seq"), 0);
    workload.attention = ATTENTION_EAGER;
    assert_string_equal(shadow_text(line, "attention"), "eager");
    assert_null(json_get(line, "error"));
    for (size_t i = 0; i < json_count(names); i++) {
        scene_add(&scene, json_string_or(json_at(names, i), ""), &workload);
    }
    scene.plan.form = json_boolean_or(json_get(line, "offload_last"), false) ? CHAIN_OFFLOADS : CHAIN_KEEPS_LAST;
    scene_build(&scene, "sm_90");
    struct turn_figures ours = figures_of(&scene.view, scene.plan.link_count);
    line_compare(line, &ours);
    scene_close(&scene);
    return true;
}

static void each_device_holds_what_accelerate_holds_there(void **state)
{
    (void)state;
    differing = 0;
    assert_int_equal(shadow_lines_each(lines_path, line_check), 20);
    assert_int_equal(differing, 0);
}

/* -- what runs */

struct outcome {
    struct placed_result result;
    struct last_output last;
};

static void scene_run(struct scene *scene, struct outcome *outcome)
{
    struct status error = {0};
    struct remembering devices[CHAIN_PLACES];
    struct replay_lane lanes[CHAIN_PLACES];
    *outcome = (struct outcome){0};
    for (int i = 0; i < CHAIN_PLACES; i++) {
        struct device *inner = NULL;
        assert_int_equal(device_open("host", &inner, &error), STATUS_OK);
        remembering_wrap(&devices[i], inner, &outcome->last);
        lanes[i] = (struct replay_lane){.device = &devices[i].passing.base,
                                        .policy = i == CHAIN_DEVICE ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN};
    }
    if (placed_replay_run(&scene->view, lanes, CHAIN_PLACES, NULL, &outcome->result, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (int i = 0; i < CHAIN_PLACES; i++) {
        device_close(devices[i].passing.inner);
    }
}

/* The three forms draw the same weights and inputs; what the last model returns must not depend on who is where. */
static void a_chain_gives_the_numbers_of_models_that_stay(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-gpt2", "tiny-vit", "tiny-qwen3"}; /* tied, of images, with buffers */
    struct workload workload = small_workload();
    struct outcome outcomes[3];
    for (int form = CHAIN_OFFLOADS; form <= CHAIN_RESIDES; form++) {
        struct scene scene = {.plan.form = (enum chain_form)form};
        for (int i = 0; i < 3; i++) {
            scene_add(&scene, models[i], &workload);
        }
        scene_build(&scene, "host");
        scene_run(&scene, &outcomes[form]);
        scene_close(&scene);
    }
    assert_true(last_outputs_equal(&outcomes[CHAIN_OFFLOADS].last, &outcomes[CHAIN_RESIDES].last));
    assert_true(last_outputs_equal(&outcomes[CHAIN_KEEPS_LAST].last, &outcomes[CHAIN_RESIDES].last));
    assert_int_equal(outcomes[CHAIN_RESIDES].result.copy_count, 0);
    for (int form = CHAIN_OFFLOADS; form <= CHAIN_RESIDES; form++) {
        free(outcomes[form].last.bytes);
    }
}

static int64_t skeleton_bytes(const struct skeleton *skeleton)
{
    int64_t bytes = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        bytes += tensor->tied_to < 0 ? tensor->element_count * dtype_bytes(tensor->dtype) : 0;
    }
    return bytes;
}

/* Weights and buffers on the device when each pass ends: those of its own model, whole, and of no other, but for the
 * last one if nobody has sent it away: it stays for the whole next turn, since its own hook sends only the one before
 * it. */
static void one_model_is_on_the_device_at_a_time(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-gpt2", "tiny-llama", "tiny-t5"};
    struct workload workload = small_workload();
    for (int form = CHAIN_OFFLOADS; form <= CHAIN_KEEPS_LAST; form++) {
        struct scene scene = {.plan.form = (enum chain_form)form};
        int64_t bytes[3], held = 0;
        int passes = -1;
        for (int i = 0; i < 3; i++) {
            scene_add(&scene, models[i], &workload);
            bytes[i] = skeleton_bytes(&scene.skeletons[i]);
        }
        scene_build(&scene, "host");
        for (int i = 0; i < scene.view.event_count; i++) {
            struct event event = scene.view.events[i];
            if (event.kind == EVENT_STAGE && event.index == STAGE_FORWARD && ++passes > 1) {
                int link = (passes - 2) % 3;
                bool is_alone = form == CHAIN_OFFLOADS || passes < 5 || link == 2;
                bool is_gone = form == CHAIN_OFFLOADS && link == 2;
                assert_int_equal(held, (is_gone ? 0 : bytes[link]) + (is_alone ? 0 : bytes[2]));
            }
            if (event.kind == EVENT_ALLOC || event.kind == EVENT_FREE) {
                const struct storage *storage = &scene.view.storages[event.index];
                bool counts = storage->place == CHAIN_DEVICE && storage->category <= CATEGORY_BUFFERS;
                held += !counts ? 0 : event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
            }
        }
        assert_int_equal(passes, 6);
        assert_int_equal(held, form == CHAIN_OFFLOADS ? 0 : bytes[2]);
        scene_close(&scene);
    }
}

static int trims_count(const struct tape_view *view)
{
    int count = 0;
    for (int i = 0; i < view->event_count; i++) {
        count += view->events[i].kind == EVENT_TRIM ? 1 : 0;
        assert_true(view->events[i].kind != EVENT_TRIM || view->events[i].index == CHAIN_DEVICE);
    }
    return count;
}

/* Every turn brings every model and sends it back; a model that stays is brought once. The cache is emptied when the
 * next model sends one away, and not by hook.offload(). */
static void copies_are_those_of_the_hooks(void **state)
{
    (void)state;
    struct workload workload = small_workload();
    for (int form = CHAIN_OFFLOADS; form <= CHAIN_RESIDES; form++) {
        struct scene scene = {.plan.form = (enum chain_form)form};
        struct outcome outcome;
        scene_add(&scene, "tiny-gpt2", &workload);
        scene_add(&scene, "tiny-llama", &workload);
        scene_build(&scene, "host");
        scene_run(&scene, &outcome);
        int64_t first = skeleton_bytes(&scene.skeletons[0]), last = skeleton_bytes(&scene.skeletons[1]);
        int64_t came = form == CHAIN_RESIDES ? 0 : 2 * first + (form == CHAIN_OFFLOADS ? 2 : 1) * last;
        int64_t went = form == CHAIN_RESIDES ? 0 : 2 * first + (form == CHAIN_OFFLOADS ? 2 : 0) * last;
        assert_int_equal(outcome.result.copied_bytes[CHAIN_HOST][CHAIN_DEVICE], came);
        assert_int_equal(outcome.result.copied_bytes[CHAIN_DEVICE][CHAIN_HOST], went);
        assert_int_equal(trims_count(&scene.view), form == CHAIN_RESIDES ? 0 : CHAIN_TURNS);
        free(outcome.last.bytes);
        scene_close(&scene);
    }
}

static void predicted_on_meta_is_measured_on_the_host(void **state)
{
    (void)state;
    struct status error = {0};
    struct workload workload = small_workload();
    struct scene scene = {0};
    struct outcome outcome;
    struct placed_result predicted;
    struct replay_lane lanes[CHAIN_PLACES];
    scene_add(&scene, "tiny-bert", &workload);
    scene_add(&scene, "tiny-resnet", &workload);
    scene_build(&scene, "host");
    scene_run(&scene, &outcome);
    for (int k = 0; k < CHAIN_PLACES; k++) {
        lanes[k] = (struct replay_lane){.policy = k == CHAIN_DEVICE ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN};
        assert_int_equal(device_open("meta", &lanes[k].device, &error), STATUS_OK);
    }
    assert_int_equal(placed_replay_run(&scene.view, lanes, CHAIN_PLACES, NULL, &predicted, &error), STATUS_OK);
    for (int k = 0; k < CHAIN_PLACES; k++) {
        assert_true(predicted.lanes[k].sequence_hash == outcome.result.lanes[k].sequence_hash);
        assert_int_equal(predicted.lanes[k].reserved_bytes_peak, outcome.result.lanes[k].reserved_bytes_peak);
        device_close(lanes[k].device);
    }
    assert_int_equal(predicted.copy_count, outcome.result.copy_count);
    free(outcome.last.bytes);
    scene_close(&scene);
}

/* -- what cannot be */

static void chain_fails(const struct workload *second, const char *text)
{
    struct status error = {0};
    struct workload first = small_workload();
    struct scene scene = {0};
    scene_add(&scene, "tiny-gpt2", &first);
    scene_add(&scene, "tiny-gpt2", second);
    assert_int_equal(scene_try(&scene, "host", &error), STATUS_INVALID);
    if (strstr(error.text, text) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, text);
    }
    scene_close(&scene);
}

static void what_a_chain_cannot_run_is_refused(void **state)
{
    (void)state;
    struct status error = {0};
    struct scene empty = {0};
    struct workload trained = workload_default(MODE_TRAIN), mixed = small_workload(), long_one = small_workload(),
                    int8 = small_workload();
    mixed.precision = PRECISION_AMP_BFLOAT16;
    int8.precision = PRECISION_INT8;
    long_one.seq = 1 << 20;
    chain_fails(&trained,
                "model 2, tiny-gpt2: the models of a chain run forward in float32, float16 or bfloat16; another "
                "mode than infer is not built for a chain");
    chain_fails(&mixed, "autocast is not built");
    chain_fails(&int8, "weights quantised is not built");
    chain_fails(&long_one, "model 2, tiny-gpt2: seq: ");
    assert_int_equal(scene_try(&empty, "host", &error), STATUS_INVALID);
}

int main(int argc, char **argv)
{
    lines_path = argc > 1 ? argv[1] : lines_path; /* lines of one's own */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_holds_what_accelerate_holds_there),
        cmocka_unit_test(a_chain_gives_the_numbers_of_models_that_stay),
        cmocka_unit_test(one_model_is_on_the_device_at_a_time),
        cmocka_unit_test(copies_are_those_of_the_hooks),
        cmocka_unit_test(predicted_on_meta_is_measured_on_the_host),
        cmocka_unit_test(what_a_chain_cannot_run_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
