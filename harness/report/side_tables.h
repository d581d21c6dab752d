/* Side tables: those that there are, each defined in the file of its kind; side_tables.c has the register. */
#ifndef ASSAY_REPORT_SIDE_TABLES_H
#define ASSAY_REPORT_SIDE_TABLES_H

#include "harness/report/side_table.h"

extern const struct side_table side_places, side_kept, side_stages; /* side_places.c */
extern const struct side_table side_placements;                     /* side_placements.c */
extern const struct side_table side_transfers;                      /* side_transfers.c */
extern const struct side_table side_searches, side_tries;           /* side_searches.c */

/* The register: from 0 on; NULL behind the last. */
const struct side_table *side_table_at(int index);

#endif
