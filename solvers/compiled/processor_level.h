/* The level of x86-64 that this processor has: 2, 3 or 4; 0 on other processors. */
#ifndef SOLVERS_PROCESSOR_LEVEL_H
#define SOLVERS_PROCESSOR_LEVEL_H

static int processor_level(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    /* Level 3: AVX2 and its companions. Level 4: the five parts of AVX-512 that servers have. */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2"))
        return 2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return 3;
    return 4;
#else
    return 0;
#endif
}

#endif
