/* Capabilities without a library. All give 0 or -errno. Source: capabilities(7). */
#pragma once

#include <stdint.h>

/* Those that a jail's set-up needs in its own user namespace. */
#define CAPS_BIT(n)       (1ull << (n))
#define CAPS_CHOWN        CAPS_BIT(0)
#define CAPS_DAC_OVERRIDE CAPS_BIT(1)
#define CAPS_FOWNER       CAPS_BIT(3)
#define CAPS_FSETID       CAPS_BIT(4)
#define CAPS_KILL         CAPS_BIT(5)
#define CAPS_SETGID       CAPS_BIT(6)
#define CAPS_SETUID       CAPS_BIT(7)
#define CAPS_SETPCAP      CAPS_BIT(8)
#define CAPS_NET_ADMIN    CAPS_BIT(12)
#define CAPS_SYS_ADMIN    CAPS_BIT(21)
#define CAPS_SYS_RESOURCE CAPS_BIT(24)

int caps_set(uint64_t effective, uint64_t permitted, uint64_t inheritable);
int caps_raise_ambient(uint64_t caps);
int caps_clear_ambient(void);

/* Empties the bounding set: no exec can ever gain one. Needs CAPS_SETPCAP. */
int caps_drop_bounding(void);

/* Being uid 0 gives nothing, changing ids takes and gives nothing, and nobody can change
 * that again. Needs CAPS_SETPCAP. */
int caps_lock_securebits(void);
