/* Placed members: what a placed case line has of its places, as members of a record. Internal to harness/run. */
#ifndef ASSAY_RUN_PLACED_MEMBERS_H
#define ASSAY_RUN_PLACED_MEMBERS_H

#include "harness/base/json.h"
#include "harness/question/place_request.h"
#include "harness/question/placed_lanes.h"

/* What stands beside the transfers of a case (placed_plain.h). */
struct placed_transfers {
    struct transfer_plain {
        const char *what; /* "copy"; static; NULL: none was made */
        int64_t bytes;
        double seconds;
    } plain[PLACE_MAXIMUM][PLACE_MAXIMUM]; /* from, to */
};

/* "estimates" of one place: replay, and accelerate if the map is its own. NULL if memory ran out. */
struct json *place_estimates_json(const struct place_request *asked, const struct placed_plan *plan, int place);

/* "places". lanes NULL: nothing was opened, so that what is measured is null. */
struct json *places_json(const struct place_request *asked, const struct placed_plan *plan,
                         const struct placed_lanes *lanes);

/* "transfers" of what was measured; plain may be NULL. */
struct json *transfers_json(const struct placed_plan *plan, const struct placed_transfers *plain);

/* "placement". plan may hold nothing but what accelerate raised. */
struct json *placement_json(const struct place_request *asked, const struct placed_plan *plan);

#endif
