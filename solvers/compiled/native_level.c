/* Prints the level of x86-64 of this processor, 2 to 4; the build runs it to compile only for
 * this machine. */
#include <stdio.h>

#include "processor_level.h"

int main(void) {
    printf("%d\n", processor_level());
    return 0;
}
