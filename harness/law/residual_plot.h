/* Residual plot: the residuals of the structural law by kind, and how errors of all forms are distributed. */
#ifndef ASSAY_LAW_RESIDUAL_PLOT_H
#define ASSAY_LAW_RESIDUAL_PLOT_H

#include "harness/law/overhead_law.h"
#include "harness/report/report.h"

/* Name of the plot: of its script, its data and its images. */
#define OVERHEAD_LAW_PLOT "law"

/* Draws into place->set as report_plot does. */
enum status_code overhead_law_plot(const struct overhead_law *law, const struct plot_place *place,
                                   struct status *error);

#endif
