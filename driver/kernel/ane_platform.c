// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The engine itself, as a device tree names it: apple,t8103-ane. Registers are reached by loads and stores, page tables are
 * apple-dart's, and the end of a request comes as an interrupt.
 *
 * What holds here that does not on the virtio function: with a fault in a DART, or without power, no register of the engine
 * may be touched, since that hangs the machine. So the interrupt's handler touches none, and whoever waits looks at the
 * DARTs first. Their own interrupt is off while a request runs, or apple-dart would take the fault away; so a request that
 * is silent is looked after now and then.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/sched/signal.h>

#include "ane_platform.h"

#define EVENTS_MAX	64
/* How long nothing may be heard of a request before the DARTs are looked at. */
#define SILENCE		max(HZ / 50, 1)
#define AUTOSUSPEND_MS	1500

static bool interrupts = true;
module_param(interrupts, bool, 0644);
MODULE_PARM_DESC(interrupts, "Sleep until the engine's interrupt; otherwise the registers are asked again and again");

static int access(struct ane_device *ane, struct ane_batch *batch)
{
	void __iomem *engine = platform_of(ane)->engine - ENGINE_BASE;
	struct ane_access *at = batch->at, *end = at + batch->count;

	for (; at < end; at++) {
		if (at->is_write)
			writel(at->value, engine + at->offset);
		else
			at->value = readl(engine + at->offset);
	}
	ane->accesses += batch->count;
	return 0;
}

static u32 get(struct ane_device *ane, u32 offset)
{
	ane->accesses++;
	return readl(platform_of(ane)->engine - ENGINE_BASE + offset);
}

static void enable(struct ane_device *ane)
{
	struct ane_batch batch = {};

	ane_enable(&batch, ANE_TM_LINE_ENABLE_LINES_MASK);
	access(ane, &batch);
	ane->has_bars = false;
}

static int space_init(struct ane_device *ane, struct ane_space *space)
{
	struct iommu_domain *domain = iommu_paging_domain_alloc(platform_of(ane)->dev);

	if (IS_ERR(domain))
		return PTR_ERR(domain);
	space->domain = domain;
	return 0;
}

static void detach(struct ane_platform *p)
{
	if (p->attached)
		iommu_detach_group(p->attached, p->group);
	p->attached = NULL;
}

/* The device may be gone; then its spaces have no domain. */
static void space_fini(struct ane_space *space)
{
	if (!space->domain)
		return;
	if (platform_of(space->ane)->attached == space->domain)
		detach(platform_of(space->ane));
	iommu_domain_free(space->domain);
	space->domain = NULL;
}

static int map(struct ane_space *space, u32 address, phys_addr_t page)
{
	return iommu_map(space->domain, address, page, ANE_PAGE, IOMMU_READ | IOMMU_WRITE, GFP_KERNEL_ACCOUNT);
}

static void unmap(struct ane_space *space, u32 address, u32 bytes)
{
	/* It invalidates as well. */
	if (space->domain && bytes)
		iommu_unmap(space->domain, address, bytes);
}

static int attach(struct ane_device *ane, struct ane_space *space)
{
	struct ane_platform *p = platform_of(ane);
	int ret;

	if (p->attached == space->domain)
		return 0;
	detach(p);
	ret = iommu_attach_group(space->domain, p->group);
	if (!ret)
		p->attached = space->domain;
	return ret;
}

static int prepare(struct ane_device *ane, struct ane_batch *batch)
{
	ane_darts_quiet(platform_of(ane), true);
	return 0;
}

/* An event has the low half of the time; the whole is the nearest to what the kernel's clock says. */
static u64 widen(struct ane_platform *p, u32 low)
{
	u64 now = ktime_get_ns();
	u64 about = p->ticks + mul_u64_u32_div(now - p->ticks_at, ANE_TICKS_PER_SECOND, NSEC_PER_SEC);

	p->ticks = about + (s32)(low - (u32)about);
	p->ticks_at = now;
	return p->ticks;
}

/* What is known of a request that runs. */
struct progress {
	struct ane_request *request;
	u32 done;
	bool is_done[2], has_failed;
};

/* Reads a line to its end. */
static int drain(struct ane_device *ane, int line, struct progress *so_far)
{
	u32 left = get(ane, ANE_TM_EVENT_COUNT(line)), info;

	if (left > EVENTS_MAX)
		return -EPROTO;
	for (; left; left--) {
		/* The first word takes the event off. What is none of ours is dropped. */
		info = get(ane, ANE_TM_EVENT_INFO(line));
		if ((info & ANE_TM_EVENT_INFO_CODE_MASK) == ANE_TM_EVENT_INFO_CODE_FAILED)
			so_far->has_failed = true;
		else if (info != so_far->done)
			continue;
		so_far->is_done[line] = true;
		/* Only a fence tells when. */
		if (!line && so_far->request->fence)
			so_far->request->ended = widen(platform_of(ane), get(ane, ANE_TM_EVENT_TIME(0)));
	}
	return 0;
}

/* 1 if the request has ended, 0 if not yet. */
static int look(struct ane_device *ane, struct ane_file *file, struct progress *so_far)
{
	int line, dart, ret;

	while ((dart = ane_darts_fault(ane)) >= 0) {
		ret = ane_contain(ane, file, so_far->request, dart);
		if (ret)
			return ret;
	}
	for (line = 0; line < 2; line++) {
		if (so_far->is_done[line])
			continue;
		ret = drain(ane, line, so_far);
		if (ret)
			return ret;
	}
	if (!so_far->is_done[0] && !so_far->is_done[1])
		return 0;
	/* The interrupt is down from here on, so that an event that follows raises it. */
	ane->accesses++;
	writel(ANE_TM_INTERRUPT_ACK_EVENTS_MASK, platform_of(ane)->engine - ENGINE_BASE + ANE_TM_INTERRUPT_ACK);
	return so_far->is_done[0] && so_far->is_done[1] && get(ane, ANE_TM_STATUS) & ANE_TM_STATUS_IDLE_MASK;
}

static irqreturn_t on_event(int irq, void *data)
{
	struct ane_platform *p = data;

	/* The line is up until the events are read, and nobody knows here whether that may be done. */
	disable_irq_nosync(irq);
	WRITE_ONCE(p->is_told, true);
	wake_up_all(&p->told);
	return IRQ_HANDLED;
}

static bool is_news(struct ane_device *ane, const struct ane_request *request)
{
	return READ_ONCE(platform_of(ane)->is_told) || READ_ONCE(ane->is_gone) || READ_ONCE(request->is_cancelled);
}

/* The line is off outside of this function, and was up if is_told. */
static void sleep(struct ane_device *ane, const struct ane_request *request)
{
	struct ane_platform *p = platform_of(ane);

	if (!p->has_irq || !READ_ONCE(interrupts)) {
		usleep_range(20, 100);
		return;
	}
	WRITE_ONCE(p->is_told, false);
	enable_irq(p->irq);
	wait_event_killable_timeout(p->told, is_news(ane, request), SILENCE);
	disable_irq(p->irq);
	/* Its handler has done so as well. */
	if (READ_ONCE(p->is_told))
		enable_irq(p->irq);
}

static int wait_for_end(struct ane_device *ane, struct ane_file *file, struct ane_request *request)
{
	struct ane_platform *p = platform_of(ane);
	struct progress so_far = {
		.request = request,
		.done = ANE_TM_EVENT_INFO_CODE_DONE | request->network_id << ANE_TM_EVENT_INFO_NID_SHIFT |
			(request->tasks - 1),
	};
	ktime_t end = min(ktime_add_ms(ktime_get(), ANE_LEGACY_TIMEOUT_MS), request->deadline);
	int contained = 0, ret;
	bool is_late;

	/* A request that is polled for may have ended by now; of one that is not the interrupt tells. */
	if (p->has_irq && READ_ONCE(interrupts))
		sleep(ane, request);
	for (;;) {
		/* Compared after the look: a bus that is slow takes no request's time. */
		is_late = ktime_after(ktime_get(), end);
		ret = look(ane, file, &so_far);
		if (ret < 0)
			return ret;
		if (ret)
			break;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (READ_ONCE(request->is_cancelled))
			return -ECANCELED;
		if (READ_ONCE(ane->is_gone))
			return -ENODEV;
		/* A fault begins its time anew: it was the kernel that took it. */
		if (p->scratch_count != contained) {
			contained = p->scratch_count;
			end = min(ktime_add_ms(ktime_get(), ANE_LEGACY_TIMEOUT_MS), request->deadline);
		} else if (is_late) {
			return -ETIMEDOUT;
		}
		sleep(ane, request);
	}
	if (p->scratch_count)
		ane->contained++;
	return so_far.has_failed || p->scratch_count ? -EIO : 0;
}

static int wait(struct ane_device *ane, struct ane_file *file, struct ane_request *request)
{
	struct ane_platform *p = platform_of(ane);
	int ret = wait_for_end(ane, file, request);

	ane_darts_quiet(p, false);
	p->scratch_space = file->space;
	/* The engine may be at these pages for as long as the request runs. */
	if (!ret || ret == -EIO)
		ane_contain_end(ane, file->space, true);
	return ret;
}

static void wake(struct ane_device *ane)
{
	wake_up_all(&platform_of(ane)->told);
}

static int recover(struct ane_device *ane)
{
	struct ane_platform *p = platform_of(ane);
	int ret = ane_power_cycle(p);

	if (p->scratch_count)
		ane_contain_end(ane, p->scratch_space, !ret);
	if (!ret)
		ret = ane_darts_clear(ane);
	if (ret)
		return ret;
	enable(ane);
	return get(ane, ANE_TM_STATUS) & ANE_TM_STATUS_IDLE_MASK ? 0 : -EBUSY;
}

static int power_on(struct ane_device *ane)
{
	return pm_runtime_resume_and_get(platform_of(ane)->dev);
}

static void power_off(struct ane_device *ane)
{
	pm_runtime_mark_last_busy(platform_of(ane)->dev);
	pm_runtime_put_autosuspend(platform_of(ane)->dev);
}

static const struct ane_bus register_bus = {
	.name = "registers",
	.access = access,
	.space_init = space_init,
	.space_fini = space_fini,
	.map = map,
	.unmap = unmap,
	.attach = attach,
	.prepare = prepare,
	.wait = wait,
	.wake = wake,
	.recover = recover,
	.power_on = power_on,
	.power_off = power_off,
};

static void drop_group(void *data)
{
	iommu_group_put(data);
}

/* A DART whose pages are larger than the kernel's lets everything through and nothing be translated. */
static int try_darts(struct ane_platform *p)
{
	struct iommu_domain *domain;
	int ret;

	p->group = iommu_group_get(p->dev);
	if (!p->group)
		return -EPROBE_DEFER;
	ret = devm_add_action_or_reset(p->dev, drop_group, p->group);
	if (ret)
		return ret;
	domain = iommu_paging_domain_alloc(p->dev);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	ret = domain->pgsize_bitmap & ANE_PAGE ? iommu_attach_group(domain, p->group) : -EINVAL;
	if (!ret)
		iommu_detach_group(domain, p->group);
	iommu_domain_free(domain);
	return ret;
}

/* Lines that are one cannot be told apart without a look at registers, and the DARTs' has to be off at times. */
static int take_interrupt(struct ane_platform *p, struct platform_device *pdev)
{
	int i, ret;

	init_waitqueue_head(&p->told);
	p->irq = platform_get_irq_byname(pdev, "ane");
	if (p->irq < 0)
		return p->irq;
	for (i = 0; i < p->dart_count; i++)
		if (p->darts[i].irq == p->irq)
			break;
	if (i < p->dart_count) {
		dev_info(p->dev, "engine and DARTs share an interrupt; the end of a request is polled for\n");
		return 0;
	}
	ret = devm_request_irq(p->dev, p->irq, on_event, IRQF_NO_AUTOEN, "ane", p);
	p->has_irq = !ret;
	return ret;
}

static int ane_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct ane_platform *p;
	struct ane_device *ane;
	int ret;

	p = devm_kzalloc(dev, sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	p->dev = dev;
	ret = ane_power_init(p);
	if (ret)
		return ret;
	p->engine = devm_platform_ioremap_resource_byname(pdev, "engine");
	if (IS_ERR(p->engine))
		return PTR_ERR(p->engine);
	ret = try_darts(p);
	if (ret)
		return dev_err_probe(dev, ret, "DARTs do not translate; their pages have 16 KiB, the kernel's %lu bytes\n",
				     PAGE_SIZE);
	ret = ane_darts_init(p);
	if (ret)
		return dev_err_probe(dev, ret, "DARTs' registers\n");
	ret = take_interrupt(p, pdev);
	if (ret)
		return dev_err_probe(dev, ret, "interrupt\n");
	ane = ane_create(dev, &register_bus, p);
	if (IS_ERR(ane))
		return PTR_ERR(ane);
	/* What the T8103 has; its engine has no register that says so. */
	ane->facts = (struct ane_facts){ .chip = 0x8103, .ane_type = 64, .engines = 16, .queues = 8 };
	pm_runtime_set_autosuspend_delay(dev, AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	ret = devm_pm_runtime_enable(dev);
	if (ret)
		return ret;
	ret = pm_runtime_resume_and_get(dev);
	if (ret)
		return ret;
	ret = ane_register(ane);
	pm_runtime_put_autosuspend(dev);
	return ret;
}

static void ane_remove(struct platform_device *pdev)
{
	struct ane_device *ane = platform_get_drvdata(pdev);
	struct ane_space *space;

	ane_unregister(ane);
	mutex_lock(&ane->lock);
	/* Files may be open for long; their tables are nobody's from here on. */
	mutex_lock(&ane->spaces_lock);
	list_for_each_entry(space, &ane->spaces, link)
		space_fini(space);
	mutex_unlock(&ane->spaces_lock);
	detach(platform_of(ane));
	mutex_unlock(&ane->lock);
}

static int ane_resume(struct device *dev)
{
	enable(dev_get_drvdata(dev));
	return 0;
}

static int ane_suspend(struct device *dev)
{
	return 0;
}

static DEFINE_RUNTIME_DEV_PM_OPS(ane_pm, ane_suspend, ane_resume, NULL);

static const struct of_device_id ane_match[] = { { .compatible = "apple,t8103-ane" }, {} };
MODULE_DEVICE_TABLE(of, ane_match);

static struct platform_driver ane_driver = {
	.probe = ane_probe,
	.remove = ane_remove,
	.driver = {
		.name = "ane",
		.of_match_table = ane_match,
		.dev_groups = ane_groups,
		.pm = pm_ptr(&ane_pm),
	},
};

int ane_platform_register(void)
{
	return platform_driver_register(&ane_driver);
}

void ane_platform_unregister(void)
{
	platform_driver_unregister(&ane_driver);
}
