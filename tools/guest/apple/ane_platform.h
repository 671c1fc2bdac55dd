/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef ANE_PLATFORM_H
#define ANE_PLATFORM_H

#include <linux/platform_device.h>

#define ANE_POWER_COMPATIBLE "virtual,t8103-ane-power"

/* Domains in the order of the provider. Each hangs on the one before; the five sets all on base. */
enum ane_power {
	ANE_POWER_SYS,
	ANE_POWER_CPU,
	ANE_POWER_BASE,
	ANE_POWER_SET1,
	ANE_POWER_DOMAINS = ANE_POWER_SET1 + 5,
};

extern struct platform_driver ane_power_driver;

#endif
