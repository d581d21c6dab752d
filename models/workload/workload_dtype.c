/* The dtype of a workload: that in which weights are kept and passes are computed. Not here: what autocast makes of it
 * (model_output.c). */
#include "models/skeleton/quantization.h"
#include "models/workload/workload_tape.h"

/* Of what is not quantised, and of what is computed. */
enum dtype precision_dtype(enum precision precision)
{
    enum quantized_form form;
    bool quantized = precision_is_quantized(precision, &form);
    return precision == PRECISION_FLOAT16                 ? DTYPE_FLOAT16
           : quantized || precision == PRECISION_BFLOAT16 ? DTYPE_BFLOAT16
                                                          : DTYPE_FLOAT32;
}

enum dtype workload_dtype(const struct workload *workload)
{
    return workload_is_packed(workload) ? DTYPE_FLOAT16 : precision_dtype(workload->precision);
}
