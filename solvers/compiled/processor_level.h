/* The level of x86-64 that this processor and its system have: 2, 3 or 4; 0 on other processors.
 *
 * It asks the processor itself, since not every compiler has the library behind
 * __builtin_cpu_supports. Bits: Intel, Software Developer's Manual, volume 2A, CPUID; levels:
 * System V ABI for AMD64, table 3.1.
 */
#ifndef SOLVERS_PROCESSOR_LEVEL_H
#define SOLVERS_PROCESSOR_LEVEL_H

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

/* Of leaf 1, ECX: FMA, MOVBE, OSXSAVE, AVX, F16C. */
#define LEVEL_3_BASIC (1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29)
/* Of leaf 0x80000001, ECX: LZCNT. */
#define LEVEL_3_EXTENDED (1u << 5)
/* Of leaf 7, EBX: BMI1, AVX2, BMI2; and the five parts of AVX-512 that servers have: F, DQ, CD, BW,
 * VL. */
#define LEVEL_3_FEATURES (1u << 3 | 1u << 5 | 1u << 8)
#define LEVEL_4_FEATURES (1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31)
/* Of XCR0, the registers that the system keeps for a thread: SSE and AVX; and masks and 512 bits.
 */
#define LEVEL_3_REGISTERS 0x06u
#define LEVEL_4_REGISTERS 0xe6u

static int has_all(unsigned value, unsigned bits) {
    return (value & bits) == bits;
}

static int processor_level(void) {
    unsigned a, b, c, d, features, registers;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_all(c, LEVEL_3_BASIC)) return 2;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !has_all(c, LEVEL_3_EXTENDED)) return 2;
    if (!__get_cpuid_count(7, 0, &a, &features, &c, &d)) return 2;
    __asm__ volatile("xgetbv" : "=a"(registers), "=d"(d) : "c"(0));
    if (!has_all(features, LEVEL_3_FEATURES) || !has_all(registers, LEVEL_3_REGISTERS)) return 2;
    if (!has_all(features, LEVEL_4_FEATURES) || !has_all(registers, LEVEL_4_REGISTERS)) return 3;
    return 4;
}
#else
static int processor_level(void) {
    return 0;
}
#endif

#endif
