// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The engine of an M1 in a machine that has none: makes device-tree nodes of the PCI function of vhost-device-ane.
 *
 * A driver of the real engine binds to nodes: apple,t8103-ane, three apple,t8103-dart, and power domains. The function
 * has each of their register ranges as a BAR, so the nodes name what the BARs were given as addresses:
 *
 *   BAR 0      ane@..     range "engine"; interrupt "ane"; iommus dart0 to dart2, stream 0; domains set1 to set5
 *   BAR 1..3   iommu@..   range and interrupt of a DART; domain sys
 *   BAR 4      power@..   the power words, a provider of eight domains: this module's, below
 *
 * Addresses are known only when the kernel has placed the BARs, so the nodes are made here, in a changeset, and not
 * loaded as a blob.
 *
 * The chip has a line for the engine and one for its DARTs. Where messages of the function are interrupts that a node can
 * name, as those of a GICv2m are, each is one of the two; they are edges. Otherwise, or with pin=1, both lines are the
 * function's pin, a level.
 */
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "ane_platform.h"

#define BAR_ENGINE	0
#define BAR_DART	1
#define BAR_POWER	4
#define DARTS		3
#define SETS		5

#define VECTOR_ENGINE	0
#define VECTOR_DART	1
#define VECTORS		2

/* The ranges that answer; a BAR is the next power of two. */
#define ENGINE_BYTES	0x24000
#define DART_BYTES	0x4000
#define POWER_BYTES	0x10000

static bool pin;
module_param(pin, bool, 0444);
MODULE_PARM_DESC(pin, "Engine and DARTs share the function's pin, though there are messages");

struct ane_nodes {
	struct of_changeset changes;
	struct device_node *made[1 + DARTS + 1];
	unsigned int made_count;
	/* Of power; those of the DARTs follow. */
	u32 phandle;
	/* By vector: the engine's, and the DARTs'. */
	u32 interrupts[VECTORS][3];
	u32 interrupt_parent;
};

/* The machine's own tree counts from 0x8000 up; these are far from it, and looked at all the same. */
#define PHANDLES	0xa0e0000

static u32 free_phandle(void)
{
	u32 first = PHANDLES, next;
	struct device_node *np;

	for (next = first; next < first + 1 + DARTS; next++) {
		np = of_find_node_by_phandle(next);
		if (np) {
			of_node_put(np);
			first = next + 1;
		}
	}
	return first;
}

/* What a node says of an interrupt that has a number in the kernel already; false if it is none of a GIC's shared ones. */
static bool describe(struct ane_nodes *nodes, int vector, int irq, u32 type)
{
	struct irq_data *data = irq_get_irq_data(irq);
	struct device_node *parent;

	while (data && data->parent_data)
		data = data->parent_data;
	parent = data && data->domain ? irq_domain_get_of_node(data->domain) : NULL;
	if (!parent || data->hwirq < 32 || data->hwirq >= 1020)
		return false;
	nodes->interrupt_parent = parent->phandle;
	nodes->interrupts[vector][0] = 0;
	nodes->interrupts[vector][1] = data->hwirq - 32;
	nodes->interrupts[vector][2] = type;
	return true;
}

static bool describe_messages(struct pci_dev *pdev, struct ane_nodes *nodes)
{
	const int count = VECTORS;
	int vector;

	if (pin || pci_alloc_irq_vectors(pdev, count, count, PCI_IRQ_MSI) != count)
		return false;
	for (vector = 0; vector < count; vector++) {
		if (!describe(nodes, vector, pci_irq_vector(pdev, vector), IRQ_TYPE_EDGE_RISING)) {
			pci_free_irq_vectors(pdev);
			return false;
		}
	}
	return true;
}

static int describe_interrupts(struct pci_dev *pdev, struct ane_nodes *nodes)
{
	int vector;

	if (describe_messages(pdev, nodes))
		return 0;
	for (vector = 0; vector < VECTORS; vector++)
		if (!describe(nodes, vector, pdev->irq, IRQ_TYPE_LEVEL_HIGH))
			return dev_err_probe(&pdev->dev, -ENODEV, "pin is no shared interrupt of a GIC\n");
	return 0;
}

/*
 * Others refer to a node by its phandle, which the kernel takes from the property when it attaches the node: before
 * the other properties of a changeset come. So it is put in by hand; it is freed with the node.
 */
static int set_phandle(struct device_node *np, u32 phandle)
{
	struct property *prop = kzalloc(sizeof(*prop), GFP_KERNEL);
	__be32 value = cpu_to_be32(phandle);

	if (!prop)
		return -ENOMEM;
	prop->name = kstrdup("phandle", GFP_KERNEL);
	prop->value = kmemdup(&value, sizeof(value), GFP_KERNEL);
	prop->length = sizeof(value);
	if (!prop->name || !prop->value) {
		kfree(prop->name);
		kfree(prop->value);
		kfree(prop);
		return -ENOMEM;
	}
	prop->next = np->properties;
	np->properties = prop;
	return 0;
}

static struct device_node *add_node(struct pci_dev *pdev, struct ane_nodes *nodes, int bar, const char *name,
				    const char *compatible, u32 bytes)
{
	u64 start = pci_resource_start(pdev, bar);
	u32 reg[] = { upper_32_bits(start), lower_32_bits(start), 0, bytes };
	struct device_node *np;
	char full[32];

	snprintf(full, sizeof(full), "%s@%llx", name, start);
	np = of_changeset_create_node(&nodes->changes, of_root, full);
	if (!np)
		return NULL;
	if (of_changeset_add_prop_string(&nodes->changes, np, "compatible", compatible) ||
	    of_changeset_add_prop_u32_array(&nodes->changes, np, "reg", reg, ARRAY_SIZE(reg)))
		return NULL;
	nodes->made[nodes->made_count++] = np;
	return np;
}

static int add_interrupt(struct ane_nodes *nodes, struct device_node *np, int vector)
{
	return of_changeset_add_prop_u32(&nodes->changes, np, "interrupt-parent", nodes->interrupt_parent) ?:
	       of_changeset_add_prop_u32_array(&nodes->changes, np, "interrupts", nodes->interrupts[vector], 3);
}

static int add_power(struct pci_dev *pdev, struct ane_nodes *nodes)
{
	struct device_node *np = add_node(pdev, nodes, BAR_POWER, "power", ANE_POWER_COMPATIBLE, POWER_BYTES);

	if (!np)
		return -ENOMEM;
	return set_phandle(np, nodes->phandle) ?:
	       of_changeset_add_prop_u32(&nodes->changes, np, "#power-domain-cells", 1);
}

static int add_dart(struct pci_dev *pdev, struct ane_nodes *nodes, int dart)
{
	u32 domain[] = { nodes->phandle, ANE_POWER_SYS };
	struct device_node *np =
		add_node(pdev, nodes, BAR_DART + dart, "iommu", "apple,t8103-dart", DART_BYTES);

	if (!np)
		return -ENOMEM;
	return set_phandle(np, nodes->phandle + 1 + dart) ?:
	       of_changeset_add_prop_u32(&nodes->changes, np, "#iommu-cells", 1) ?:
	       of_changeset_add_prop_u32_array(&nodes->changes, np, "power-domains", domain, 2) ?:
	       add_interrupt(nodes, np, VECTOR_DART);
}

static int add_engine(struct pci_dev *pdev, struct ane_nodes *nodes)
{
	struct device_node *np = add_node(pdev, nodes, BAR_ENGINE, "ane", "apple,t8103-ane", ENGINE_BYTES);
	u32 iommus[2 * DARTS], domains[2 * SETS];
	int i;

	if (!np)
		return -ENOMEM;
	for (i = 0; i < DARTS; i++) {
		iommus[2 * i] = nodes->phandle + 1 + i;
		iommus[2 * i + 1] = 0;
	}
	for (i = 0; i < SETS; i++) {
		domains[2 * i] = nodes->phandle;
		domains[2 * i + 1] = ANE_POWER_SET1 + i;
	}
	return of_changeset_add_prop_string(&nodes->changes, np, "reg-names", "engine") ?:
	       of_changeset_add_prop_string(&nodes->changes, np, "interrupt-names", "ane") ?:
	       of_changeset_add_prop_u32_array(&nodes->changes, np, "iommus", iommus, ARRAY_SIZE(iommus)) ?:
	       of_changeset_add_prop_u32_array(&nodes->changes, np, "power-domains", domains,
					       ARRAY_SIZE(domains)) ?:
	       add_interrupt(nodes, np, VECTOR_ENGINE);
}

/*
 * The kernel takes the function's decoding away while the system sleeps. Whatever has its registers there has to sleep
 * before it and wake after it. The links go with the devices of the nodes.
 */
static int order_sleep(struct pci_dev *pdev, struct ane_nodes *nodes)
{
	struct platform_device *made;
	struct device_link *link;
	unsigned int i;

	for (i = 0; i < nodes->made_count; i++) {
		made = of_find_device_by_node(nodes->made[i]);
		if (!made)
			return -ENODEV;
		link = device_link_add(&made->dev, &pdev->dev, DL_FLAG_STATELESS);
		put_device(&made->dev);
		if (!link)
			return -EINVAL;
	}
	return 0;
}

static int ane_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct ane_nodes *nodes;
	int dart, ret;

	nodes = devm_kzalloc(&pdev->dev, sizeof(*nodes), GFP_KERNEL);
	if (!nodes)
		return -ENOMEM;
	/* Decoding on, or every access of the drivers reads ones. Ranges stay theirs to request. */
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	pci_set_master(pdev);
	ret = describe_interrupts(pdev, nodes);
	if (ret)
		return ret;
	nodes->phandle = free_phandle();
	of_changeset_init(&nodes->changes);
	ret = add_power(pdev, nodes);
	for (dart = 0; !ret && dart < DARTS; dart++)
		ret = add_dart(pdev, nodes, dart);
	if (!ret)
		ret = add_engine(pdev, nodes);
	if (!ret)
		ret = of_changeset_apply(&nodes->changes);
	if (!ret) {
		ret = order_sleep(pdev, nodes);
		if (ret)
			of_changeset_revert(&nodes->changes);
	}
	if (ret) {
		of_changeset_destroy(&nodes->changes);
		pci_free_irq_vectors(pdev);
		return dev_err_probe(&pdev->dev, ret, "nodes cannot be made\n");
	}
	pci_set_drvdata(pdev, nodes);
	return 0;
}

static void ane_remove(struct pci_dev *pdev)
{
	struct ane_nodes *nodes = pci_get_drvdata(pdev);

	of_changeset_revert(&nodes->changes);
	of_changeset_destroy(&nodes->changes);
	pci_free_irq_vectors(pdev);
}

static const struct pci_device_id ane_ids[] = { { PCI_DEVICE(0x1af4, 0x10fa) }, {} };
MODULE_DEVICE_TABLE(pci, ane_ids);

static struct pci_driver ane_driver = {
	.name = "ane-platform",
	.id_table = ane_ids,
	.probe = ane_probe,
	.remove = ane_remove,
};

static int __init ane_platform_init(void)
{
	int ret = platform_driver_register(&ane_power_driver);

	if (ret)
		return ret;
	ret = pci_register_driver(&ane_driver);
	if (ret)
		platform_driver_unregister(&ane_power_driver);
	return ret;
}
module_init(ane_platform_init);

static void __exit ane_platform_exit(void)
{
	pci_unregister_driver(&ane_driver);
	platform_driver_unregister(&ane_power_driver);
}
module_exit(ane_platform_exit);

MODULE_DESCRIPTION("Device-tree nodes of the virtual Apple Neural Engine");
MODULE_LICENSE("Dual MIT/GPL");
