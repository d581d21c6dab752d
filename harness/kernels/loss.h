/* Loss: the target that does not count. */
#ifndef ASSAY_KERNELS_LOSS_H
#define ASSAY_KERNELS_LOSS_H

enum { LOSS_IGNORED = -100 };

#endif
