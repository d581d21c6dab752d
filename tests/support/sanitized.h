/* Sanitized: whether this program was built with the sanitizers, under which all takes several times as long. A test
 * that takes minutes there asks for less; without them it asks for everything. */
#ifndef ASSAY_TESTS_SUPPORT_SANITIZED_H
#define ASSAY_TESTS_SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

#endif
