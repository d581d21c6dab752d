/* Subject: a model of the catalogue and a workload, as estimators are asked about them. */
#ifndef ASSAY_TESTS_ESTIMATE_SUBJECT_H
#define ASSAY_TESTS_ESTIMATE_SUBJECT_H

#include "harness/estimate/estimate.h"

struct subject {
    struct config config;
    struct skeleton skeleton;
    struct workload workload;
};

/* Fails the test where the model is not known. */
struct subject *subject_new(const char *model, struct workload workload);
void subject_release(struct subject *subject);

/* Of the subject, for the host; parallel may be NULL. Valid as long as the subject. */
struct estimate_input subject_input(const struct subject *subject, const struct parallel *parallel);

/* What the estimator of that name says; it must apply. */
struct estimate subject_estimate(const char *estimator, const struct subject *subject, const struct parallel *parallel);
struct estimate estimate_of(const char *estimator, const char *model, struct workload workload);
struct estimate estimate_divided(const char *estimator, const char *model, struct workload workload,
                                 const struct parallel *parallel);
bool estimator_would_apply(const char *estimator, const char *model, struct workload workload,
                           const struct parallel *parallel);

void known_check(const struct estimate *estimate, const char *name, int64_t value);
/* It is unknown, and a note says why. */
void unknown_check(const struct estimate *estimate, const char *name);

/* Training on batches of 8 sequences of 512. */
struct workload train(enum precision precision, enum optimizer optimizer);

#endif
