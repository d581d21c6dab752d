/* Side tables: the register, in the order in which pages show them. */
#include "harness/report/side_tables.h"

#include <stddef.h>

static const struct side_table *const tables[] = {&side_places,    &side_kept,     &side_placements, &side_stages,
                                                  &side_transfers, &side_searches, &side_tries};

const struct side_table *side_table_at(int index)
{
    return (size_t)index < sizeof tables / sizeof tables[0] ? tables[index] : NULL;
}
