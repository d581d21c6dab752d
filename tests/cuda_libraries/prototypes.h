/* Which prototypes were held against NVIDIA's headers when this was compiled. */
#ifndef ASSAY_TESTS_CUDA_LIBRARIES_PROTOTYPES_H
#define ASSAY_TESTS_CUDA_LIBRARIES_PROTOTYPES_H

const char *prototypes_checked(void); /* NULL: none, the headers were not here */

#endif
