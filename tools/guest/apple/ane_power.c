// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The power words as power domains.
 *
 * A word has the state that is wanted in bits 3:0 and the state that is in 7:4; 15 is on, 0 is off. Silicon follows
 * within 100 microseconds. On an M1 pmgr-pwrstate provides these domains; Debian's kernels leave it out, and it
 * cannot be built beside them, so this stands in for it, with the same chain: sys > cpu > base > set1 to set5.
 */
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/pm_domain.h>

#include "ane_platform.h"

#define ON		15
#define ACTUAL(word)	((word) >> 4 & 0xf)
#define PATIENCE_US	100000

struct ane_domain {
	struct generic_pm_domain genpd;
	void __iomem *word;
};

struct ane_domains {
	struct ane_domain each[ANE_POWER_DOMAINS];
	struct generic_pm_domain *pointers[ANE_POWER_DOMAINS];
	struct genpd_onecell_data onecell;
};

static const struct {
	const char *name;
	u32 offset;
} words[ANE_POWER_DOMAINS] = {
	{ "ane_sys", 0x470 },	{ "ane_sys_cpu", 0xc000 }, { "ane_base", 0xc008 }, { "ane_set1", 0xc010 },
	{ "ane_set2", 0xc018 }, { "ane_set3", 0xc020 },	   { "ane_set4", 0xc028 }, { "ane_set5", 0xc030 },
};

static int switch_to(struct generic_pm_domain *genpd, u32 state)
{
	struct ane_domain *domain = container_of(genpd, struct ane_domain, genpd);
	u32 word;

	writel((readl(domain->word) & ~0xf) | state, domain->word);
	return readl_poll_timeout(domain->word, word, ACTUAL(word) == state, 1, PATIENCE_US);
}

static int domain_on(struct generic_pm_domain *genpd)
{
	return switch_to(genpd, ON);
}

static int domain_off(struct generic_pm_domain *genpd)
{
	return switch_to(genpd, 0);
}

static void forget(struct ane_domains *domains, int count)
{
	/* The last ones first: nothing may hang on a domain that goes. */
	while (count-- > 0) {
		int parent = min(count - 1, (int)ANE_POWER_BASE);

		if (parent >= 0)
			pm_genpd_remove_subdomain(domains->pointers[parent], domains->pointers[count]);
		pm_genpd_remove(domains->pointers[count]);
	}
}

static int ane_power_probe(struct platform_device *pdev)
{
	struct ane_domains *domains;
	void __iomem *base;
	int i, ret;

	domains = devm_kzalloc(&pdev->dev, sizeof(*domains), GFP_KERNEL);
	if (!domains)
		return -ENOMEM;
	base = devm_platform_ioremap_resource(pdev, 0);
	if (IS_ERR(base))
		return PTR_ERR(base);
	for (i = 0; i < ANE_POWER_DOMAINS; i++) {
		struct ane_domain *domain = &domains->each[i];
		int parent = min(i - 1, (int)ANE_POWER_BASE);

		domain->word = base + words[i].offset;
		domain->genpd.name = words[i].name;
		domain->genpd.power_on = domain_on;
		domain->genpd.power_off = domain_off;
		domains->pointers[i] = &domain->genpd;
		ret = pm_genpd_init(&domain->genpd, NULL, ACTUAL(readl(domain->word)) != ON);
		if (ret)
			goto fail;
		if (parent >= 0)
			ret = pm_genpd_add_subdomain(domains->pointers[parent], &domain->genpd);
		if (ret) {
			pm_genpd_remove(&domain->genpd);
			goto fail;
		}
	}
	domains->onecell.domains = domains->pointers;
	domains->onecell.num_domains = ANE_POWER_DOMAINS;
	platform_set_drvdata(pdev, domains);
	ret = of_genpd_add_provider_onecell(pdev->dev.of_node, &domains->onecell);
	if (!ret)
		return 0;
fail:
	forget(domains, i);
	return ret;
}

static void ane_power_remove(struct platform_device *pdev)
{
	of_genpd_del_provider(pdev->dev.of_node);
	forget(platform_get_drvdata(pdev), ANE_POWER_DOMAINS);
}

static const struct of_device_id ane_power_match[] = { { .compatible = ANE_POWER_COMPATIBLE }, {} };

struct platform_driver ane_power_driver = {
	.probe = ane_power_probe,
	.remove = ane_power_remove,
	.driver = {
		.name = "ane-power",
		.of_match_table = ane_power_match,
		.suppress_bind_attrs = true,
	},
};
