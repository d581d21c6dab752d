/* Decoders: the order in which a layer gives memory back. The real layers say hidden = residual + hidden, and return:
 * what was added goes at once, and the residual when the layer has returned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/modelled.h"

static void what_a_layer_adds_goes_before_its_residual(void **state)
{
    static const char *const models[] = {"tiny-llama", "tiny-mixtral", "tiny-phi3"};
    struct workload workload = workload_default(MODE_INFER);
    (void)state;
    workload.batch = 1;
    workload.seq = 8;
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        struct modelled modelled = {0};
        int sums = 0;
        modelled_require(&modelled, models[m], &workload, "sm_90");
        struct tape_view view = tape_view(modelled.tape);
        bool after_sum = false;
        for (int i = 0; i < view.event_count; i++) {
            const struct event *event = &view.events[i];
            bool moves = event->kind == EVENT_ALLOC || event->kind == EVENT_FREE;
            bool is_sum = moves && strcmp(view.storages[event->index].label, "ADD") == 0;
            if (event->kind == EVENT_FREE && after_sum && is_sum) {
                fail_msg("%s: a residual goes before what was added to it", models[m]);
            }
            after_sum = event->kind == EVENT_ALLOC ? is_sum : after_sum && event->kind != EVENT_FREE;
            sums += event->kind == EVENT_ALLOC && is_sum ? 1 : 0;
        }
        assert_true(sums >= 2 * modelled.config.layers);
        modelled_close(&modelled);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_layer_adds_goes_before_its_residual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
