/* Subject: made from the catalogue, asked for one estimator. */
#include "tests/estimate/subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/find/catalogue.h"

struct subject *subject_new(const char *model, struct workload workload)
{
    struct status error = {0};
    struct subject *subject = test_calloc(1, sizeof *subject);
    subject->workload = workload;
    if (config_find("models/catalogue", model, &subject->config, &error) != STATUS_OK ||
        workload_skeleton(&subject->config, &workload, &subject->skeleton, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return subject;
}

void subject_release(struct subject *subject)
{
    skeleton_release(&subject->skeleton);
    test_free(subject);
}

struct estimate_input subject_input(const struct subject *subject, const struct parallel *parallel)
{
    return (struct estimate_input){.config = &subject->config,
                                   .skeleton = &subject->skeleton,
                                   .workload = &subject->workload,
                                   .target = "host",
                                   .parallel = parallel};
}

struct estimate subject_estimate(const char *estimator, const struct subject *subject, const struct parallel *parallel)
{
    struct estimate_input input = subject_input(subject, parallel);
    struct estimate estimate = {0};
    struct status error = {0};
    assert_non_null(estimator_find(estimator));
    assert_true(estimator_applies(estimator_find(estimator), &input));
    if (estimate_compute(estimator_find(estimator), &input, &estimate, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_string_equal(estimate.estimator, estimator);
    return estimate;
}

struct estimate estimate_divided(const char *estimator, const char *model, struct workload workload,
                                 const struct parallel *parallel)
{
    struct subject *subject = subject_new(model, workload);
    struct estimate estimate = subject_estimate(estimator, subject, parallel);
    subject_release(subject);
    return estimate;
}

struct estimate estimate_of(const char *estimator, const char *model, struct workload workload)
{
    return estimate_divided(estimator, model, workload, NULL);
}

bool estimator_would_apply(const char *estimator, const char *model, struct workload workload,
                           const struct parallel *parallel)
{
    struct subject *subject = subject_new(model, workload);
    struct estimate_input input = subject_input(subject, parallel);
    bool applies = estimator_applies(estimator_find(estimator), &input);
    subject_release(subject);
    return applies;
}

void known_check(const struct estimate *estimate, const char *name, int64_t value)
{
    const struct estimate_quantity *quantity = estimate_get(estimate, name);
    if (quantity == NULL || !quantity->known || quantity->value != value) {
        fail_msg("%s: %s is %lld, not %lld", estimate->estimator, name,
                 quantity != NULL && quantity->known ? (long long)quantity->value : -1LL, (long long)value);
    }
}

void unknown_check(const struct estimate *estimate, const char *name)
{
    const struct estimate_quantity *quantity = estimate_get(estimate, name);
    assert_non_null(quantity);
    assert_false(quantity->known);
    assert_int_equal(quantity->value, 0);
    assert_string_not_equal(estimate->note, ""); /* the reason */
}

struct workload train(enum precision precision, enum optimizer optimizer)
{
    struct workload workload = workload_default(MODE_TRAIN);
    workload.precision = precision;
    workload.optimizer = optimizer;
    workload.batch = 8;
    workload.seq = 512;
    return workload;
}
