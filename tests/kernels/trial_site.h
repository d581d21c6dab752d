/* Site: where trials run. A device and one segment of it through which the tensors travel, so that a device whose
 * memory the host cannot read is tried like any other. */
#ifndef ASSAY_TESTS_KERNELS_TRIAL_SITE_H
#define ASSAY_TESTS_KERNELS_TRIAL_SITE_H

#include "harness/device/device.h"
#include "tests/kernels/trial.h"

struct trial_site {
    struct device *device;
    unsigned char *segment, *image; /* of the device; the same bytes on the host */
    int64_t bytes;                  /* of each */
    bool rounds_weights;            /* tensor cores may round what reference_attention_bound says */
    bool adds_stored_products;      /* a library may store a product in the output's dtype before it adds something */
    int core_terms;   /* of 16 bits, that tensor cores add at once and cut (product_allowance); 0: there are none */
    int float8_terms; /* of float8, that tensor cores add at once and cut; 0: they add like float32 */
};

/* Takes the segment. The device stays the caller's and must outlive the site; so the site where this fails. */
enum status_code trial_site_open(struct trial_site *site, struct device *device, struct status *error);
void trial_site_close(struct trial_site *site);

/* Takes the memory of all tensors of the trial there, runs the call, and brings it back, inputs too. */
enum status_code trial_site_run(const struct trial_site *site, struct trial *trial, struct status *error);

#endif
