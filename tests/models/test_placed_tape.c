/* Placed tapes: a model gives the same numbers wherever its parts lie, each place takes what it is said to take, and
 * what a map cannot do is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/replay/placed_replay.h"
#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "models/skeleton/placement.h"
#include "models/workload/workload_tape.h"
#include "tests/models/memory_disk.h"
#include "tests/models/placed_maps.h"
#include "tests/models/remembering_device.h"

/* -- a case */

struct placed_case {
    struct config config;
    struct skeleton skeleton;
    struct workload workload;
    struct placement placement;
    struct tape *tape;
    struct last_output last;
    struct placed_result result;
    struct memory_disk disk;
};

static const struct place four_places[PLACES] = {
    {PLACE_DEVICE, "0"}, {PLACE_DEVICE, "1"}, {PLACE_HOST, "cpu"}, {PLACE_DISK, "disk"}};

enum { NEW_TOKENS = 4 };

static struct workload workload_of(enum mode mode)
{
    struct workload workload = workload_default(mode);
    workload.batch = 2;
    workload.seq = 6;
    workload.new_tokens = NEW_TOKENS;
    return workload;
}

/* one->workload is set. */
static enum status_code case_build(struct placed_case *one, const char *model, const struct placement_entry *entries,
                                   int entry_count, bool offload_buffers, struct status *error)
{
    const struct target *target = NULL;
    assert_int_equal(config_find("models/catalogue", model, &one->config, error), STATUS_OK);
    assert_int_equal(workload_skeleton(&one->config, &one->workload, &one->skeleton, error), STATUS_OK);
    assert_int_equal(target_find("host", &target, error), STATUS_OK);
    struct placement_plan plan = {.place_count = PLACES,
                                  .entries = entries,
                                  .entry_count = entry_count,
                                  .main = -1,
                                  .offload_buffers = offload_buffers};
    memcpy(plan.places, four_places, sizeof four_places);
    enum status_code code = placement_build(&one->skeleton, &plan, &one->placement, error);
    if (code == STATUS_OK) {
        code = workload_tape_placed(&one->config, &one->skeleton, &one->workload, target, &one->placement, &one->tape,
                                    error);
    }
    return code;
}

static void case_run(struct placed_case *one)
{
    struct status error = {0};
    struct remembering devices[PLACES];
    struct replay_lane lanes[PLACES];
    struct tape_view view = tape_view(one->tape);
    struct placed_store store = memory_disk_store(&one->disk);
    for (int i = 0; i < PLACES; i++) {
        struct device *inner = NULL;
        assert_int_equal(device_open(i == DISK ? "meta" : "host", &inner, &error), STATUS_OK);
        remembering_wrap(&devices[i], inner, &one->last);
        lanes[i] = (struct replay_lane){.device = i == DISK ? inner : &devices[i].passing.base,
                                        .policy = i < CPU ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN,
                                        .store = i == DISK ? &store : NULL};
    }
    enum status_code code = placed_replay_run(&view, lanes, PLACES, NULL, &one->result, &error);
    if (code != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (int i = 0; i < PLACES; i++) {
        device_close(devices[i].passing.inner);
    }
}

static void case_close(struct placed_case *one)
{
    tape_release(one->tape);
    placement_release(&one->placement);
    skeleton_release(&one->skeleton);
    memory_disk_release(&one->disk);
    free(one->last.bytes);
}

static void case_make_in(enum mode mode, struct placed_case *one, const char *model,
                         const struct placement_entry *entries, int entry_count)
{
    struct status error = {0};
    *one = (struct placed_case){.workload = workload_of(mode)};
    if (case_build(one, model, entries, entry_count, false, &error) != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
    case_run(one);
}

static void case_make(struct placed_case *one, const char *model, const struct placement_entry *entries,
                      int entry_count)
{
    case_make_in(MODE_INFER, one, model, entries, entry_count);
}

/* -- the same numbers */

static int entries_count(const struct map *map)
{
    int count = 0;
    while (count < 12 && map->entries[count].path != NULL) {
        count++;
    }
    return count;
}

static void a_model_gives_the_same_numbers_however_it_is_placed(void **state)
{
    (void)state;
    static const struct placement_entry whole[] = {{"", GPU0}};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        struct placed_case one, spread;
        case_make(&one, maps[i].model, whole, 1);
        case_make(&spread, maps[i].model, maps[i].entries, entries_count(&maps[i]));
        if (!last_outputs_equal(&one.last, &spread.last)) {
            fail_msg("map %zu: %s gives other numbers when it is placed", i, maps[i].model);
        }
        assert_int_equal(one.result.copy_count, 0);
        assert_true(spread.result.copy_count > 0);
        case_close(&one);
        case_close(&spread);
    }
}

/* Every score of every step, and every token that is chosen by them. */
static void a_model_writes_the_same_tokens_however_it_is_placed(void **state)
{
    (void)state;
    static const struct placement_entry whole[] = {{"", GPU0}};
    int generating = 0;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        struct status error = {0};
        struct config config;
        struct placed_case one, spread;
        assert_int_equal(config_find("models/catalogue", maps[i].model, &config, &error), STATUS_OK);
        if (!config.family->generates || config.family->encode != NULL) {
            continue;
        }
        case_make_in(MODE_GENERATE, &one, maps[i].model, whole, 1);
        case_make_in(MODE_GENERATE, &spread, maps[i].model, maps[i].entries, entries_count(&maps[i]));
        assert_int_equal(one.last.choice_count, NEW_TOKENS);
        assert_int_equal(spread.last.choice_count, NEW_TOKENS);
        if (one.last.choices != spread.last.choices) {
            fail_msg("map %zu: %s writes other tokens when it is placed", i, maps[i].model);
        }
        assert_int_equal(one.result.copy_count, 0);
        assert_true(spread.result.copy_count > 0);
        case_close(&one);
        case_close(&spread);
        generating++;
    }
    assert_true(generating >= 10);
}

/* Each layer's keys and values lie where the layer runs: when the last token has been read, [2, kv heads, 9, head size]
 * of both. */
static void keys_and_values_lie_where_their_layer_runs(void **state)
{
    (void)state;
    struct placed_case one;
    int64_t held[PLACES] = {0}, most[PLACES] = {0};
    case_make_in(MODE_GENERATE, &one, "tiny-llama", maps[0].entries, entries_count(&maps[0]));
    const struct config *config = &one.config;
    int64_t fed = one.workload.seq + NEW_TOKENS - 1;
    int64_t layer_bytes = 2 * 2 * config->kv_heads * fed * config->head_dim * 4;
    struct tape_view view = tape_view(one.tape);
    for (int i = 0; i < view.event_count; i++) {
        struct event event = view.events[i];
        bool is_memory = event.kind == EVENT_ALLOC || event.kind == EVENT_FREE;
        const struct storage *storage = is_memory ? &view.storages[event.index] : NULL;
        if (is_memory && storage->category == CATEGORY_KV_CACHE) {
            held[storage->place] += event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
            most[storage->place] =
                held[storage->place] > most[storage->place] ? held[storage->place] : most[storage->place];
        }
    }
    for (int place = 0; place < PLACES; place++) { /* a tensor of one token less is there while it grows */
        int64_t grown_bytes = layer_bytes + layer_bytes / 2 * (fed - 1) / fed;
        assert_int_equal(most[place], place <= GPU1 ? grown_bytes : 0);
        assert_int_equal(held[place], 0);
    }
    case_close(&one);
}

/* -- figures */

/* Whether a tensor before this one is the same and is kept in the same place. */
static bool is_kept_already(const struct placed_case *one, int tensor)
{
    const struct skeleton_tensor *tensors = one->skeleton.tensors;
    int owner = tensors[tensor].tied_to;
    for (int i = 0; owner >= 0 && i < tensor; i++) {
        if ((i == owner || tensors[i].tied_to == owner) && one->placement.keeps[i] == one->placement.keeps[tensor]) {
            return true;
        }
    }
    return false;
}

/* What a map says that a place keeps: tied tensors once, and of a buffer the state dict's own copy, too. */
static int64_t kept_bytes(const struct placed_case *one, int place)
{
    int64_t total = 0;
    for (int i = 0; i < one->skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &one->skeleton.tensors[i];
        int64_t bytes = tensor->element_count * dtype_bytes(tensor->dtype);
        total += one->placement.keeps[i] == place && !is_kept_already(one, i) ? bytes : 0;
        total += one->placement.copies[i] == place ? bytes : 0;
    }
    return total;
}

static void each_place_loads_what_is_kept_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        struct placed_case one;
        case_make(&one, maps[i].model, maps[i].entries, entries_count(&maps[i]));
        for (int place = 0; place < PLACES; place++) {
            assert_int_equal(one.result.lanes[place].stages[STAGE_LOAD].requested_bytes, kept_bytes(&one, place));
            assert_int_equal(one.result.lanes[place].stages[STAGE_FORWARD].requested_bytes >= kept_bytes(&one, place),
                             1);
        }
        assert_int_equal(memory_disk_bytes(&one.disk), kept_bytes(&one, DISK));
        case_close(&one);
    }
}

/* tiny-llama with everything but the embedding offloaded: each linear layer brings its own weights and they go with it,
 * so that nothing but the embedding, the buffers and what the pass itself makes is on the device at its end. */
static void offloaded_weights_come_one_module_at_a_time(void **state)
{
    (void)state;
    static const struct placement_entry entries[] = {{"model.embed_tokens", GPU0},
                                                     {"model.layers", CPU},
                                                     {"model.norm", CPU},
                                                     {"model.rotary_emb", CPU},
                                                     {"lm_head", CPU}};
    static const struct placement_entry whole[] = {{"", GPU0}};
    struct placed_case one, resident;
    case_make(&one, "tiny-llama", entries, 5);
    case_make(&resident, "tiny-llama", whole, 1);
    const struct replay_stage *placed = &one.result.lanes[GPU0].stages[STAGE_FORWARD];
    const struct replay_stage *all = &resident.result.lanes[GPU0].stages[STAGE_FORWARD];
    int64_t largest = 0, offloaded = 0;
    for (int i = 0; i < one.skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &one.skeleton.tensors[i];
        int64_t bytes = tensor->element_count * dtype_bytes(tensor->dtype);
        if (placement_offloads(&one.placement, i)) {
            offloaded += tensor->tied_to < 0 ? bytes : 0;
            largest = bytes > largest ? bytes : largest;
        }
    }
    assert_int_equal(placed->requested_bytes, all->requested_bytes - offloaded);
    assert_true(placed->requested_bytes_peak <= all->requested_bytes_peak - offloaded + largest);
    assert_true(placed->requested_bytes_peak >= placed->requested_bytes);
    assert_true(one.result.copied_bytes[CPU][GPU0] > offloaded); /* in both passes */
    assert_int_equal(one.result.lanes[CPU].stages[STAGE_LOAD].requested_bytes, offloaded);
    case_close(&one);
    case_close(&resident);
}

static void predicted_on_meta_is_measured_on_the_host(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        struct status error = {0};
        struct placed_case one;
        struct placed_result predicted;
        struct replay_lane lanes[PLACES];
        case_make(&one, maps[i].model, maps[i].entries, entries_count(&maps[i]));
        for (int k = 0; k < PLACES; k++) {
            lanes[k] = (struct replay_lane){.policy = k < CPU ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN};
            assert_int_equal(device_open("meta", &lanes[k].device, &error), STATUS_OK);
        }
        struct tape_view view = tape_view(one.tape);
        assert_int_equal(placed_replay_run(&view, lanes, PLACES, NULL, &predicted, &error), STATUS_OK);
        for (int k = 0; k < PLACES; k++) {
            const struct replay_result *a = &predicted.lanes[k], *b = &one.result.lanes[k];
            assert_true(a->sequence_hash == b->sequence_hash);
            assert_int_equal(a->requested_bytes_peak, b->requested_bytes_peak);
            assert_int_equal(a->allocated_bytes_peak, b->allocated_bytes_peak);
            assert_int_equal(a->reserved_bytes_peak, b->reserved_bytes_peak);
            device_close(lanes[k].device);
        }
        assert_int_equal(predicted.copy_count, one.result.copy_count);
        case_close(&one);
    }
}

/* -- what cannot be */

static void build_fails(const char *model, const struct placement_entry *entries, int count, const char *text)
{
    struct status error = {0};
    struct placed_case one = {.workload = workload_of(MODE_INFER)};
    assert_int_equal(case_build(&one, model, entries, count, false, &error), STATUS_INVALID);
    if (strstr(error.text, text) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, text);
    }
    case_close(&one);
}

static void a_map_that_cannot_run_is_refused(void **state)
{
    (void)state;
    static const struct placement_entry missing[] = {{"model.embed_tokens", GPU0}, {"model.layers", GPU0}};
    static const struct placement_entry unknown[] = {{"model", GPU0}, {"head", GPU0}};
    static const struct placement_entry split[] = {{"model.embed_tokens", GPU0},
                                                   {"model.layers.0.self_attn", GPU1},
                                                   {"model.layers.0", GPU0},
                                                   {"model.layers.1", GPU0},
                                                   {"model.norm", GPU0},
                                                   {"model.rotary_emb", GPU0},
                                                   {"lm_head", GPU0}};
    static const struct placement_entry residual[] = {{"model.embed_tokens", GPU0},
                                                      {"model.layers.0.self_attn", GPU1},
                                                      {"model.layers.0.mlp", GPU0},
                                                      {"model.layers.0.input_layernorm", GPU0},
                                                      {"model.layers.0.post_attention_layernorm", GPU0},
                                                      {"model.layers.1", GPU0},
                                                      {"model.norm", GPU0},
                                                      {"model.rotary_emb", GPU0},
                                                      {"lm_head", GPU0}};
    static const struct placement_entry tied[] = {{"transformer", GPU0}, {"lm_head", GPU1}};
    /* GPT-Neo adds both embeddings as they are; GPT-2 brings the second to the first. */
    static const struct placement_entry embeddings[] = {
        {"transformer.wte", GPU0}, {"transformer.wpe", GPU1}, {"transformer", GPU0}, {"lm_head", GPU0}};
    build_fails("tiny-llama", missing, 2, "gives 'model.norm.weight' no device");
    build_fails("tiny-llama", unknown, 2, "names 'head'");
    build_fails("tiny-llama", split, 7, "two devices");
    build_fails("tiny-llama", residual, 9, "two devices");
    build_fails("tiny-gpt2", tied, 2, "are one tensor");
    build_fails("tiny-gpt-neo", embeddings, 4, "two devices");
}

/* What of a generation is not placed yet. */
static void a_generation_that_cannot_be_placed_is_refused(void **state)
{
    (void)state;
    static const struct placement_entry whole[] = {{"", GPU0}};
    struct placed_case cases[4];
    static const char *const models[] = {"tiny-llama", "tiny-llama", "tiny-llama", "tiny-t5"};
    static const char *const texts[] = {"a static cache over several devices", "a search with beams",
                                        "a quantised cache", "generation beside an encoder"};
    for (int i = 0; i < 4; i++) {
        struct status error = {0};
        cases[i] = (struct placed_case){.workload = workload_of(MODE_GENERATE)};
        cases[i].workload.cache = i == 0 ? CACHE_STATIC : CACHE_DYNAMIC;
        cases[i].workload.beams = i == 1 ? 2 : 1;
        cases[i].workload.cache_dtype = i == 2 ? CACHE_DTYPE_FP8 : CACHE_DTYPE_AUTO;
        assert_int_equal(case_build(&cases[i], models[i], whole, 1, false, &error), STATUS_INVALID);
        if (strstr(error.text, texts[i]) == NULL) {
            fail_msg("'%s' does not say '%s'", error.text, texts[i]);
        }
        case_close(&cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_gives_the_same_numbers_however_it_is_placed),
        cmocka_unit_test(a_model_writes_the_same_tokens_however_it_is_placed),
        cmocka_unit_test(keys_and_values_lie_where_their_layer_runs),
        cmocka_unit_test(each_place_loads_what_is_kept_there),
        cmocka_unit_test(offloaded_weights_come_one_module_at_a_time),
        cmocka_unit_test(predicted_on_meta_is_measured_on_the_host),
        cmocka_unit_test(a_map_that_cannot_run_is_refused),
        cmocka_unit_test(a_generation_that_cannot_be_placed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
