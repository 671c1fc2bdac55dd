// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the engine's node leads to: five power domains, and three DARTs.
 *
 * The sets hang on ane_base, so with all five off the task manager has no power either and forgets what it did. The DARTs
 * hang on ane_sys, which stays on.
 */
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_irq.h>
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>

#include "ane_platform.h"

/* Their offsets in a DART's range: the registers of the windows, from the window's base. */
#define DART_ERROR	(ANE_DART_ERROR_STATUS - ANE_DART0)
#define DART_FAULT	BIT(31)

#define PATIENCE_US	100000

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

static void drop_darts(void *data)
{
	struct ane_platform *p = data;

	while (p->dart_count)
		iounmap(p->darts[--p->dart_count].regs);
}

int ane_darts_init(struct ane_platform *p)
{
	struct of_phandle_args args;
	int i, ret;

	ret = devm_add_action_or_reset(p->dev, drop_darts, p);
	for (i = 0; i < DARTS && !ret; i++) {
		ret = of_parse_phandle_with_args(p->dev->of_node, "iommus", "#iommu-cells", i, &args);
		if (ret)
			break;
		p->darts[i].irq = of_irq_get(args.np, 0);
		p->darts[i].regs = of_iomap(args.np, 0);
		of_node_put(args.np);
		if (!p->darts[i].regs)
			return -ENOMEM;
		p->dart_count++;
		if (p->darts[i].irq <= 0)
			ret = p->darts[i].irq ?: -ENODEV;
	}
	return ret;
}

bool ane_darts_fault(struct ane_device *ane)
{
	struct ane_platform *p = platform_of(ane);
	int i;

	for (i = 0; i < p->dart_count; i++) {
		ane->accesses++;
		if (readl(p->darts[i].regs + DART_ERROR) & DART_FAULT)
			return true;
	}
	return false;
}

void ane_darts_quiet(struct ane_platform *p, bool quiet)
{
	int i;

	for (i = 0; i < p->dart_count; i++) {
		if (quiet)
			disable_irq(p->darts[i].irq);
		else
			enable_irq(p->darts[i].irq);
	}
}

int ane_darts_clear(struct ane_device *ane)
{
	bool has_fault;

	/* Its handler is called for as long as the line is up. */
	return read_poll_timeout(ane_darts_fault, has_fault, !has_fault, 50, PATIENCE_US, false, ane);
}
