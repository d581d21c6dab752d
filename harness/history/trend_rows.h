/* Trend rows: the rows of a history as series. Not for anybody outside this folder. */
#ifndef ASSAY_HISTORY_TREND_ROWS_H
#define ASSAY_HISTORY_TREND_ROWS_H

#include "harness/history/trend.h"

/* Fills the groups of trend with nights and series, without steps. Errors are those of trend_make. */
enum status_code trend_rows_read(struct history *history, struct trend *trend, struct status *error);

#endif
