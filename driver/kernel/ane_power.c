// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The five power domains of the engine's node.
 *
 * The sets hang on ane_base, so with all five off the task manager has no power either and forgets what it did. The DARTs
 * hang on ane_sys, which stays on.
 */
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>

#include "ane_platform.h"

static void drop_power(void *data)
{
	struct ane_platform *p = data;
	int i;

	for (i = SETS - 1; i >= 0; i--) {
		if (p->links[i])
			device_link_del(p->links[i]);
		if (p->sets[i])
			dev_pm_domain_detach(p->sets[i], true);
	}
}

int ane_power_init(struct ane_platform *p)
{
	int i, ret;

	ret = devm_add_action_or_reset(p->dev, drop_power, p);
	for (i = 0; i < SETS && !ret; i++) {
		struct device *set = dev_pm_domain_attach_by_id(p->dev, i);

		if (IS_ERR_OR_NULL(set))
			return dev_err_probe(p->dev, set ? PTR_ERR(set) : -ENODEV, "power domain %d\n", i);
		p->sets[i] = set;
		p->links[i] =
			device_link_add(p->dev, set, DL_FLAG_STATELESS | DL_FLAG_PM_RUNTIME | DL_FLAG_RPM_ACTIVE);
		if (!p->links[i])
			ret = -ENOMEM;
	}
	return ret;
}

int ane_power_cycle(struct ane_platform *p)
{
	int i, ret, failed = 0;

	for (i = SETS - 1; i >= 0; i--) {
		/*
		 * Only a device that somebody else uses as well is forced to resume. The link from the engine's device counts
		 * as two users until that device was suspended for the first time, and as one from then on.
		 */
		pm_runtime_get_noresume(p->sets[i]);
		ret = pm_runtime_force_suspend(p->sets[i]);
		if (ret)
			failed = ret;
	}
	for (i = 0; i < SETS; i++) {
		ret = pm_runtime_force_resume(p->sets[i]);
		pm_runtime_put_noidle(p->sets[i]);
		if (ret)
			failed = ret;
	}
	return failed;
}
