// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the driver takes from the device tree, its power, and what it tells in sysfs.
 *
 * It has parts in common with driver/kernel, and shares no line with it on purpose: this is a second driver, written from the
 * contract alone. One that took a wrong reading from the other would say nothing about the device.
 */
#include <linux/io.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_irq.h>
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>

#include "contract.h"

static void drop_power(void *data)
{
	struct contract *c = data;
	int i;

	for (i = SETS - 1; i >= 0; i--) {
		if (c->links[i])
			device_link_del(c->links[i]);
		if (c->sets[i])
			dev_pm_domain_detach(c->sets[i], true);
	}
}

static int take_power(struct contract *c)
{
	int i, ret;

	ret = devm_add_action_or_reset(c->dev, drop_power, c);
	if (ret)
		return ret;
	for (i = 0; i < SETS; i++) {
		struct device *set = dev_pm_domain_attach_by_id(c->dev, i);

		if (IS_ERR_OR_NULL(set))
			return dev_err_probe(c->dev, set ? PTR_ERR(set) : -ENODEV, "set %d\n", i + 1);
		c->sets[i] = set;
		c->links[i] = device_link_add(c->dev, set, DL_FLAG_STATELESS | DL_FLAG_PM_RUNTIME | DL_FLAG_RPM_ACTIVE);
		if (!c->links[i])
			return -ENOMEM;
	}
	return 0;
}

static void drop_darts(void *data)
{
	struct contract *c = data;

	while (c->dart_count)
		iounmap(c->darts[--c->dart_count].regs);
}

/* Their registers a second time: they are looked at before the engine is. */
static int take_darts(struct contract *c)
{
	struct of_phandle_args args;
	int i, ret;

	ret = devm_add_action_or_reset(c->dev, drop_darts, c);
	for (i = 0; i < DARTS && !ret; i++) {
		ret = of_parse_phandle_with_args(c->dev->of_node, "iommus", "#iommu-cells", i, &args);
		if (ret)
			break;
		c->darts[i].irq = of_irq_get(args.np, 0);
		c->darts[i].regs = of_iomap(args.np, 0);
		of_node_put(args.np);
		if (!c->darts[i].regs)
			return -ENOMEM;
		c->dart_count++;
		if (c->darts[i].irq <= 0)
			return -ENODEV;
	}
	return ret;
}

static ssize_t counters_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct contract *c = dev_get_drvdata(dev);

	return sysfs_emit(text, "wedged %d contained %u cycles %u accesses %u\n", c->wedged, c->contained, c->cycles,
			  c->accesses);
}
static DEVICE_ATTR_RO(counters);
static struct attribute *contract_attrs[] = { &dev_attr_counters.attr, NULL };
ATTRIBUTE_GROUPS(contract);

static int contract_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct contract *c;
	int ret;

	c = devm_kzalloc(dev, sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->dev = dev;
	mutex_init(&c->lock);
	platform_set_drvdata(pdev, c);
	ret = take_power(c);
	if (ret)
		return ret;
	/* Looked up and never requested: requests are polled for. */
	ret = platform_get_irq_byname(pdev, "ane");
	if (ret < 0)
		return ret;
	c->engine = devm_platform_ioremap_resource_byname(pdev, "engine");
	if (IS_ERR(c->engine))
		return PTR_ERR(c->engine);
	c->domain = iommu_get_domain_for_dev(dev);
	if (!c->domain)
		return -EPROBE_DEFER;
	if (!(c->domain->pgsize_bitmap & PAGE_SIZE) || !c->domain->geometry.force_aperture)
		return dev_err_probe(dev, -EINVAL, "DART has no pages of the kernel's size\n");
	ret = take_darts(c);
	if (ret)
		return dev_err_probe(dev, ret, "DARTs\n");
	pm_runtime_set_autosuspend_delay(dev, 1500);
	pm_runtime_use_autosuspend(dev);
	ret = devm_pm_runtime_enable(dev);
	if (ret)
		return ret;
	ret = pm_runtime_resume_and_get(dev);
	if (ret)
		return ret;
	c->misc.minor = MISC_DYNAMIC_MINOR;
	c->misc.name = "ane-contract";
	c->misc.fops = &contract_fops;
	c->misc.parent = dev;
	ret = misc_register(&c->misc);
	pm_runtime_put_autosuspend(dev);
	if (!ret)
		dev_info(dev, "engine is driven by the contract\n");
	return ret;
}

static void contract_remove(struct platform_device *pdev)
{
	struct contract *c = platform_get_drvdata(pdev);

	misc_deregister(&c->misc);
}

/* The engine forgets task manager and queues with its power. */
static int contract_resume(struct device *dev)
{
	contract_enable(dev_get_drvdata(dev));
	return 0;
}

static int contract_suspend(struct device *dev)
{
	struct contract *c = dev_get_drvdata(dev);

	return c->wedged ? -EBUSY : 0;
}

static DEFINE_RUNTIME_DEV_PM_OPS(contract_pm, contract_suspend, contract_resume, NULL);

static const struct of_device_id contract_match[] = { { .compatible = "apple,t8103-ane" }, {} };
MODULE_DEVICE_TABLE(of, contract_match);

static struct platform_driver contract_driver = {
	.probe = contract_probe,
	.remove = contract_remove,
	.driver = {
		.name = "ane-contract",
		.of_match_table = contract_match,
		.dev_groups = contract_groups,
		.pm = pm_ptr(&contract_pm),
	},
};
module_platform_driver(contract_driver);

MODULE_DESCRIPTION("A driver of Apple's Neural Engine, written from the contract, for tests");
MODULE_LICENSE("Dual MIT/GPL");
