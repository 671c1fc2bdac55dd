/*
 * The calls from 0x80 on of a driver in the kernel, in the manner of the kernel's own tests: requests MODEL.anec prints TAP.
 * What is left out is at the end.
 *
 * requests MODEL.anec load       keeps the queue full until a call fails, and says how
 * requests MODEL.anec leave      opens a file and closes the first while a request runs that never ends, and says whether
 *                                that took long
 */
#include <sys/wait.h>
#include <time.h>

#include "tap.h"

#define NEVER ((int64_t)ANE_TIME_NEVER)

static uint64_t param(int fd, uint32_t which)
{
	struct drm_ane_get_param get = { .param = which };
	CHECK(ioctl(fd, DRM_IOCTL_ANE_GET_PARAM, &get) == 0);
	return get.value;
}

static uint64_t counter(int fd, unsigned which)
{
	uint64_t counters[40] = { 0 };
	struct drm_ane_get_stats get = { .counters = (uintptr_t)counters, .count = 40, .scope = ANE_STATS_FILE };
	CHECK(ioctl(fd, DRM_IOCTL_ANE_GET_STATS, &get) == 0);
	return counters[which];
}

static struct drm_ane_bo_create wish(uint64_t size, uint32_t usage, uint32_t flags, uint64_t address)
{
	return (struct drm_ane_bo_create){ .size = size, .usage = usage, .flags = flags, .device_address = address };
}

/* Of a buffer that is to be made, how that ends. */
static int making(int fd, struct drm_ane_bo_create create)
{
	return call(fd, DRM_IOCTL_ANE_BO_CREATE, &create);
}

static struct buffer made(int fd, uint64_t size, uint32_t usage, uint32_t flags)
{
	struct drm_ane_bo_create create = wish(size, usage, flags, 0);
	CHECK(ioctl(fd, DRM_IOCTL_ANE_BO_CREATE, &create) == 0);
	struct buffer buffer = { .handle = create.handle, .size = create.size, .offset = create.map_offset };
	buffer.map = mmap(NULL, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)buffer.offset);
	CHECK(buffer.map != MAP_FAILED);
	return buffer;
}

static void parameters(int fd)
{
	struct drm_ane_get_param get = { .param = 0x1000 };
	TEST(call(fd, DRM_IOCTL_ANE_GET_PARAM, &get) == EINVAL);
	get = (struct drm_ane_get_param){ .param = ANE_PARAM_ABI_VERSION, .reserved = 1 };
	TEST(call(fd, DRM_IOCTL_ANE_GET_PARAM, &get) == EINVAL);
	TEST(param(fd, ANE_PARAM_ABI_VERSION) == ANE_ABI_VERSION && param(fd, ANE_PARAM_CHIP) == 0x8103);
	TEST(param(fd, ANE_PARAM_ANE_TYPE) == 64 && param(fd, ANE_PARAM_QUEUES) == 8);
	TEST(param(fd, ANE_PARAM_PAGE_SIZE) == TILE && param(fd, ANE_PARAM_FIRST_ADDRESS) == TILE);
	TEST(param(fd, ANE_PARAM_STATE) == ANE_STATE_READY);
	uint64_t clock = param(fd, ANE_PARAM_CLOCK_NS);
	TEST(clock != 0 && param(fd, ANE_PARAM_CLOCK_NS) > clock && param(fd, ANE_PARAM_TICKS_PER_SECOND) == 24000000);
}

static void contexts(void)
{
	int fd = open_device();
	struct drm_ane_context_attach attach = { .policy = 3, .context = ANE_CONTEXT_ANY };
	struct drm_ane_context_detach detach = { 0 };
	CHECK(fd >= 0);
	TEST(call(fd, DRM_IOCTL_ANE_CONTEXT_ATTACH, &attach) == EINVAL);
	TEST(call(fd, DRM_IOCTL_ANE_CONTEXT_DETACH, &detach) == ENOENT);
	attach.policy = ANE_CONTEXT_POLICY_REFUSE;
	attach.timeout_ns = 1;
	TEST(call(fd, DRM_IOCTL_ANE_CONTEXT_ATTACH, &attach) == EINVAL);
	attach.timeout_ns = 0;
	TEST(call(fd, DRM_IOCTL_ANE_CONTEXT_ATTACH, &attach) == 0 && attach.sharers == 1);
	TEST(param(fd, ANE_PARAM_CONTEXT) == attach.context);
	attach.context = ANE_CONTEXT_ANY;
	TEST(call(fd, DRM_IOCTL_ANE_CONTEXT_ATTACH, &attach) == EALREADY);
	struct drm_ane_bo_create create = wish(TILE, ANE_USAGE_WEIGHTS, 0, 0);
	CHECK(ioctl(fd, DRM_IOCTL_ANE_BO_CREATE, &create) == 0);
	TEST(call(fd, DRM_IOCTL_ANE_CONTEXT_DETACH, &detach) == EBUSY);
	struct drm_ane_bo_free args = { .handle = create.handle };
	CHECK(ioctl(fd, DRM_IOCTL_ANE_BO_FREE, &args) == 0);
	detach.flags = 1;
	TEST(call(fd, DRM_IOCTL_ANE_CONTEXT_DETACH, &detach) == EINVAL);
	detach.flags = 0;
	TEST(call(fd, DRM_IOCTL_ANE_CONTEXT_DETACH, &detach) == 0 && param(fd, ANE_PARAM_CONTEXT) == ANE_CONTEXT_ANY);
	close(fd);
}

static struct drm_ane_bo_info info(int fd, uint32_t handle)
{
	struct drm_ane_bo_info info = { .handle = handle };
	CHECK(ioctl(fd, DRM_IOCTL_ANE_BO_INFO, &info) == 0);
	return info;
}

static void buffers(void)
{
	int fd = open_device();
	const uint32_t fixed = ANE_BO_FIXED_ADDRESS, output = ANE_USAGE_OUTPUT_TENSOR;
	CHECK(fd >= 0);
	TEST(making(fd, wish(0, output, 0, 0)) == EINVAL);
	TEST(making(fd, wish(~0ull, output, 0, 0)) == EINVAL);
	TEST(making(fd, wish(TILE, 3, 0, 0)) == EINVAL);
	TEST(making(fd, wish(TILE, ANE_USAGE_FIRMWARE_RESIDENT_HEAP, 0, 0)) == EINVAL);
	TEST(making(fd, wish(TILE, output, 0x10, 0)) == EINVAL);
	TEST(making(fd, wish(TILE, output, 0, TILE)) == EINVAL);
	TEST(making(fd, wish(TILE, output, fixed, 17)) == EINVAL);
	TEST(making(fd, wish(TILE, output, fixed, 0xe0000000)) == ERANGE);
	TEST(making(fd, wish(2 * TILE, output, fixed, 0xe0000000 - TILE)) == ERANGE);
	struct drm_ane_bo_create pooled = wish(TILE, output, 0, 0);
	pooled.pool = 77;
	TEST(call(fd, DRM_IOCTL_ANE_BO_CREATE, &pooled) == ENOENT);
	struct drm_ane_bo_create reserved = wish(TILE, output, 0, 0);
	reserved.reserved[1] = 1;
	TEST(call(fd, DRM_IOCTL_ANE_BO_CREATE, &reserved) == EINVAL);

	struct drm_ane_bo_create at = wish(TILE + 1, output, fixed | ANE_BO_PINNED, 0x1000000);
	TEST(call(fd, DRM_IOCTL_ANE_BO_CREATE, &at) == 0 && at.device_address == 0x1000000 && at.size == 2 * TILE);
	TEST(making(fd, wish(TILE, output, fixed, 0x1000000 + TILE)) == EEXIST);
	struct drm_ane_bo_info about = info(fd, at.handle);
	TEST(about.size == 2 * TILE && about.usage == output && about.state == ANE_BO_MAPPED && about.mapping_count == 1);
	TEST(about.flags == (fixed | ANE_BO_PINNED) && about.map_offset == at.map_offset);
	struct drm_ane_bo_info none = { .handle = 0xfff };
	TEST(call(fd, DRM_IOCTL_ANE_BO_INFO, &none) == ENOENT);

	/* Without a flag it lies nowhere until somebody asks for it. */
	struct buffer lazy = made(fd, 4 * TILE, ANE_USAGE_INTERMEDIATE, ANE_BO_SCATTERED);
	about = info(fd, lazy.handle);
	TEST(about.state == 0 && about.device_address == 0 && about.mapping_count == 0);
	for (uint64_t byte = 0; byte < lazy.size; byte++)
		lazy.map[byte] = (uint8_t)(byte >> 14);
	struct drm_ane_bo_premap premap = {
		.count = 2, .handle = lazy.handle, .usage = ANE_USAGE_INTERMEDIATE, .device_address = ANE_ADDRESS_ANY, .size = TILE,
	};
	TEST(call(fd, DRM_IOCTL_ANE_BO_PREMAP, &premap) == EINVAL);
	premap.count = 1;
	premap.usage = output;
	TEST(call(fd, DRM_IOCTL_ANE_BO_PREMAP, &premap) == EINVAL);
	premap.usage = ANE_USAGE_INTERMEDIATE;
	premap.size = 5 * TILE;
	TEST(call(fd, DRM_IOCTL_ANE_BO_PREMAP, &premap) == EINVAL);
	premap.size = TILE;
	premap.device_address = 0x1000000;
	TEST(call(fd, DRM_IOCTL_ANE_BO_PREMAP, &premap) == EEXIST);
	premap.device_address = ANE_ADDRESS_ANY;
	TEST(call(fd, DRM_IOCTL_ANE_BO_PREMAP, &premap) == 0 && premap.device_address == TILE);
	premap.device_address = ANE_ADDRESS_ANY;
	TEST(call(fd, DRM_IOCTL_ANE_BO_PREMAP, &premap) == EALREADY);
	TEST(info(fd, lazy.handle).device_address == TILE && lazy.map[3 * TILE] == 3);

	struct drm_ane_bo_map map = { .handle = lazy.handle, .usage = output, .offset = 1 };
	TEST(call(fd, DRM_IOCTL_ANE_BO_MAP, &map) == EINVAL);
	map.offset = 4 * TILE;
	TEST(call(fd, DRM_IOCTL_ANE_BO_MAP, &map) == EINVAL);
	map.offset = TILE;
	map.size = 4 * TILE;
	TEST(call(fd, DRM_IOCTL_ANE_BO_MAP, &map) == EINVAL);
	map.size = 2 * TILE;
	TEST(call(fd, DRM_IOCTL_ANE_BO_MAP, &map) == 0 && map.mapping == 1 && map.device_address == 5 * TILE);
	TEST(info(fd, lazy.handle).mapping_count == 2);
	for (int more = 2; more < ANE_MAPPINGS_MAX; more++) {
		struct drm_ane_bo_map next = { .handle = lazy.handle, .usage = output };
		CHECK(ioctl(fd, DRM_IOCTL_ANE_BO_MAP, &next) == 0);
	}
	struct drm_ane_bo_map full = { .handle = lazy.handle, .usage = output };
	TEST(call(fd, DRM_IOCTL_ANE_BO_MAP, &full) == ENOSPC);
	struct drm_ane_bo_unmap unmap = { .handle = lazy.handle, .mapping = 1, .usage = ANE_USAGE_WEIGHTS };
	TEST(call(fd, DRM_IOCTL_ANE_BO_UNMAP, &unmap) == EINVAL);
	unmap.usage = output;
	TEST(call(fd, DRM_IOCTL_ANE_BO_UNMAP, &unmap) == 0);
	TEST(call(fd, DRM_IOCTL_ANE_BO_UNMAP, &unmap) == ENODATA);
	unmap = (struct drm_ane_bo_unmap){ .handle = lazy.handle, .usage = ANE_USAGE_INTERMEDIATE };
	TEST(call(fd, DRM_IOCTL_ANE_BO_UNMAP, &unmap) == 0 && info(fd, lazy.handle).device_address == 0);
	TEST(counter(fd, ANE_COUNTER_BUFFERS) == 2);
	close(fd);
	/* Mappings of the process outlive the file. */
	TEST(lazy.map[2 * TILE] == 2 && munmap(lazy.map, lazy.size) == 0);
}

/* The words of a request for a program, whose BARs go by this array. */
static struct drm_ane_request raw(const struct program *program, struct drm_ane_bar bars[32])
{
	const struct header *header = &program->header;
	uint64_t behind = (header->tsk_size + ANE_CMD_GRAN - 1) / ANE_CMD_GRAN * ANE_CMD_GRAN;
	uint32_t used = 0;
	for (uint32_t bar = 0; bar < 32; bar++)
		if (program->bars[bar].handle)
			bars[used++] = (struct drm_ane_bar){ .index = bar, .handle = program->bars[bar].handle };
	if (behind < program->bars[0].size)
		bars[used++] = (struct drm_ane_bar){ .index = 1, .handle = program->bars[0].handle, .offset = behind };
	return (struct drm_ane_request){
		.priority = ANE_PRIORITY_DEFAULT, .bars = (uintptr_t)bars, .bar_count = used, .bar_size = sizeof *bars,
		.stream_size = header->tsk_size, .task_count = header->td_count, .first_size = header->td_size,
	};
}

static uint64_t submit(int fd, struct drm_ane_request request)
{
	CHECK(ioctl(fd, DRM_IOCTL_ANE_SUBMIT_REQUEST, &request) == 0);
	return request.out_fence;
}

/* What became of a request. */
static struct drm_ane_fence end_of(int fd, uint64_t number)
{
	struct drm_ane_fence fence = { .fence = number };
	struct drm_ane_wait wait = {
		.fences = (uintptr_t)&fence, .count = 1, .fence_size = sizeof fence, .timeout_ns = NEVER,
	};
	CHECK(ioctl(fd, DRM_IOCTL_ANE_WAIT, &wait) == 0 && wait.completed == 1);
	return fence;
}

static int refused(int fd, struct drm_ane_request request)
{
	return call(fd, DRM_IOCTL_ANE_SUBMIT_REQUEST, &request);
}

static void refusals(struct program *program)
{
	struct drm_ane_bar bars[33];
	const struct drm_ane_request good = raw(program, bars);
	struct drm_ane_request bad;
	int fd = program->fd;
#define REFUSED(how, change)                                       \
	do {                                                       \
		bad = good;                                        \
		change;                                            \
		report(refused(fd, bad) == (how), #how ": " #change); \
	} while (0)
	REFUSED(EINVAL, bad.reserved = 1);
	REFUSED(EINVAL, bad.reserved2[1] = 1);
	REFUSED(EINVAL, bad.flags = 4);
	REFUSED(EINVAL, bad.priority = 8);
	REFUSED(EINVAL, bad.stream_size = 0);
	REFUSED(EINVAL, bad.stream_size = program->bars[0].size + 1);
	REFUSED(EINVAL, bad.task_count = 0);
	REFUSED(EINVAL, bad.first_size = 0);
	REFUSED(EINVAL, bad.first_size = 0x10000);
	REFUSED(EINVAL, bad.network_id = 255);
	REFUSED(EINVAL, bad.bar_size = 8);
	REFUSED(E2BIG, bad.bar_count = 33);
	REFUSED(E2BIG, bad.in_fence_count = 17);
	REFUSED(EFAULT, bad.bars = 1);
	REFUSED(EINVAL, bad.bar_count = 0);
	uint64_t never = 1u << 20;
	REFUSED(ENODATA, (bad.in_fences = (uintptr_t)&never, bad.in_fence_count = 1));
	bars[1].index = bars[0].index;
	REFUSED(EINVAL, (void)0);
	raw(program, bars);
	bars[1].offset = 1ull << 40;
	REFUSED(EINVAL, (void)0);
	raw(program, bars);
	bars[1].mapping = 9;
	REFUSED(EINVAL, (void)0);
	raw(program, bars);
	bars[1].mapping = 0xffffffff;
	REFUSED(EINVAL, (void)0);
	raw(program, bars);
	bars[1].handle = 0xffff;
	REFUSED(ENOENT, (void)0);
}

static void waits(int fd, uint64_t done)
{
	struct drm_ane_fence fence = { .fence = done };
	const struct drm_ane_wait good = { .fences = (uintptr_t)&fence, .count = 1, .fence_size = sizeof fence };
	struct drm_ane_wait wait;
#define WAITS(how, change)                                                          \
	do {                                                                        \
		wait = good;                                                        \
		change;                                                             \
		report(call(fd, DRM_IOCTL_ANE_WAIT, &wait) == (how), #how ": " #change); \
	} while (0)
	WAITS(0, (void)0);
	WAITS(EINVAL, wait.count = 0);
	WAITS(EINVAL, wait.flags = 2);
	WAITS(EINVAL, wait.fence_size = 8);
	WAITS(E2BIG, wait.count = ANE_WAIT_MAX + 1);
	WAITS(EFAULT, wait.fences = 8);
	fence.fence = 0;
	WAITS(ENODATA, (void)0);
	fence.fence = 1u << 20;
	WAITS(ENODATA, (void)0);
	struct drm_ane_cancel cancel = { .fence = done };
	TEST(call(fd, DRM_IOCTL_ANE_CANCEL, &cancel) == EALREADY);
	cancel.fence = 1u << 20;
	TEST(call(fd, DRM_IOCTL_ANE_CANCEL, &cancel) == ENODATA);
	cancel.flags = 2;
	TEST(call(fd, DRM_IOCTL_ANE_CANCEL, &cancel) == EINVAL);
}

static void forget(struct program *program)
{
	for (unsigned output = 0; output < program->header.outputs; output++)
		memset(program->bars[4 + output].map, 0xa5, program->bars[4 + output].size);
}

static void requests(struct program *program)
{
	struct drm_ane_bar bars[33];
	struct drm_ane_request request = raw(program, bars);
	uint64_t expected = result(program), before = counter(program->fd, ANE_COUNTER_COMPLETED);
	int fd = program->fd, good = 1;

	forget(program);
	uint64_t first = submit(fd, request);
	struct drm_ane_fence fence = end_of(fd, first);
	TEST(fence.result == 0 && fence.state == ANE_FENCE_STATE_COMPLETE && fence.timestamp != 0);
	TEST(sum(program) == expected);
	request.network_id = 3;
	forget(program);
	TEST(end_of(fd, submit(fd, request)).result == 0 && sum(program) == expected);
	request.network_id = 0;
	waits(fd, first);

	/* A stretch of them, in both orders of priority; each waits for the one before. */
	uint64_t last = 0;
	for (int turn = 0; turn < 60; turn++) {
		request.priority = turn % 2 ? ANE_PRIORITY_APPLICATION : ANE_PRIORITY_LAST;
		request.in_fences = (uintptr_t)&last;
		request.in_fence_count = last != 0;
		last = submit(fd, request);
	}
	TEST(end_of(fd, last).result == 0);
	TEST(counter(fd, ANE_COUNTER_COMPLETED) == before + 62 && counter(fd, ANE_COUNTER_IN_FLIGHT) == 0);

	/* A chain of copies: whole, or not at all. */
	struct drm_ane_request links[5];
	for (int link = 0; link < 5; link++) {
		links[link] = request;
		links[link].in_fence_count = 0;
		links[link].priority = ANE_PRIORITY_DEFAULT;
	}
	struct drm_ane_chain chain = { .requests = (uintptr_t)links, .request_count = 5, .request_size = sizeof *links };
	links[3].task_count = 0;
	TEST(call(fd, DRM_IOCTL_ANE_SUBMIT_CHAIN, &chain) == EINVAL && chain.failed == 3);
	links[3].task_count = request.task_count;
	forget(program);
	TEST(call(fd, DRM_IOCTL_ANE_SUBMIT_CHAIN, &chain) == 0 && chain.out_fence == last + 5);
	for (int link = 0; link < 5; link++)
		good &= links[link].out_fence == last + 1 + (uint64_t)link;
	TEST(good && end_of(fd, chain.out_fence).result == 0 && sum(program) == expected);
	chain.request_count = 0;
	TEST(call(fd, DRM_IOCTL_ANE_SUBMIT_CHAIN, &chain) == EINVAL);
	chain.request_count = ANE_CHAIN_MAX + 1;
	TEST(call(fd, DRM_IOCTL_ANE_SUBMIT_CHAIN, &chain) == E2BIG);

	/* What nobody waits for is ended by closing the file, further down. */
	request.in_fence_count = 0;
	request.flags = ANE_REQUEST_NONBLOCK;
	for (int turn = 0; turn < 20; turn++)
		submit(fd, request);
}

static double seconds(void)
{
	struct timespec now;
	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A chain as long as may be. */
static struct drm_ane_chain longest(struct drm_ane_request links[ANE_CHAIN_MAX], struct drm_ane_request request)
{
	for (int link = 0; link < ANE_CHAIN_MAX; link++)
		links[link] = request;
	return (struct drm_ane_chain){
		.requests = (uintptr_t)links, .request_count = ANE_CHAIN_MAX, .request_size = sizeof *links,
		.flags = ANE_REQUEST_NONBLOCK,
	};
}

/* A file with as many requests as may be is closed: the time grows with their number, not with its square. */
static void full_queues(void)
{
	static struct drm_ane_request links[ANE_CHAIN_MAX];
	struct drm_ane_bar bars[33];
	struct program program = fresh(3);
	struct drm_ane_chain chain = longest(links, raw(&program, bars));
	int ended = 0;
	for (int turn = 0; turn < ANE_IN_FLIGHT_MAX && !ended; turn++)
		ended = call(program.fd, DRM_IOCTL_ANE_SUBMIT_CHAIN, &chain);
	TEST(ended == 0);
	double begun = seconds();
	drop(&program);
	double took = seconds() - begun;
	printf("# closing a file with a full queue took %.3f s\n", took);
	TEST(took < 2);
}

/* A chain whose last request was taken back counts as one in flight while others of it are queued. */
static void shortened_chains(void)
{
	static struct drm_ane_request links[ANE_CHAIN_MAX];
	struct drm_ane_bar bars[33];
	struct program program = fresh(4);
	struct drm_ane_chain chain = longest(links, raw(&program, bars));
	int ended = 0, taken = 0;
	/* More than may be in flight, for some come to their end meanwhile. */
	for (int turn = 0; turn < 2 * ANE_IN_FLIGHT_MAX && !ended; turn++) {
		ended = call(program.fd, DRM_IOCTL_ANE_SUBMIT_CHAIN, &chain);
		struct drm_ane_cancel cancel = { .fence = chain.out_fence };
		if (!ended)
			taken += call(program.fd, DRM_IOCTL_ANE_CANCEL, &cancel) == 0;
	}
	TEST(ended == EAGAIN && taken > ANE_IN_FLIGHT_MAX / 2);
	drop(&program);
}

/* A deadline that has passed, and requests behind one that is taken back. */
static void endings(struct program *program)
{
	struct drm_ane_bar bars[33];
	struct drm_ane_request request = raw(program, bars);
	int fd = program->fd;

	request.deadline_ns = 1;
	TEST(end_of(fd, submit(fd, request)).result == -ETIME);
	request.deadline_ns = param(fd, ANE_PARAM_CLOCK_NS) + 60000000000ull;
	TEST(end_of(fd, submit(fd, request)).result == 0);
	request.deadline_ns = 1;
	uint64_t late = submit(fd, request);
	request.deadline_ns = 0;
	request.in_fences = (uintptr_t)&late;
	request.in_fence_count = 1;
	TEST(end_of(fd, submit(fd, request)).result == -ECANCELED);
}

/* How often the engine was reset. */
static unsigned long resets(void)
{
	char name[64];
	unsigned long value;
	FILE *file = fopen("/sys/class/accel/accel0/device/ane_stats", "r");
	CHECK(file);
	while (fscanf(file, "%63s %lu", name, &value) == 2 && strcmp(name, "recoveries") != 0)
		;
	CHECK(strcmp(name, "recoveries") == 0 && fclose(file) == 0);
	return value;
}

/* A request without its buffers: it fails alone, its file is parked, and everything goes on. */
static void faults(struct program *program)
{
	struct drm_ane_bar bars[33];
	struct drm_ane_request good = raw(program, bars);
	struct drm_ane_bar text[1] = { bars[0] };
	struct drm_ane_request holed = good;
	struct drm_ane_get_fault get = { 0 };
	struct drm_ane_recover recover = { .flags = ANE_RECOVER_RESUME };
	struct drm_ane_get_failure failure = { 0 };
	int fd = program->fd;
	uint64_t expected = result(program);

	TEST(call(fd, DRM_IOCTL_ANE_GET_FAULT, &get) == ENODATA);
	TEST(call(fd, DRM_IOCTL_ANE_GET_FAILURE, &failure) == ENODATA);
	TEST(call(fd, DRM_IOCTL_ANE_RECOVER, &recover) == EALREADY);
	recover.flags = 3;
	TEST(call(fd, DRM_IOCTL_ANE_RECOVER, &recover) == EINVAL);
	recover.flags = ANE_RECOVER_RESUME;
	holed.bars = (uintptr_t)text;
	holed.bar_count = 1;
	unsigned long before = resets();
	uint64_t number = submit(fd, holed);
	struct drm_ane_fence fence = end_of(fd, number);
	TEST(fence.result == -EIO && fence.fault != 0);
	TEST(param(fd, ANE_PARAM_STATE) == ANE_STATE_PARKED && refused(fd, good) == EIO);
	TEST(call(fd, DRM_IOCTL_ANE_RECOVER, &recover) == 0 && recover.state == ANE_STATE_PARKED);
	forget(program);
	TEST(end_of(fd, submit(fd, good)).result == 0 && sum(program) == expected);
	TEST(call(fd, DRM_IOCTL_ANE_GET_FAULT, &get) == 0 && get.sequence == fence.fault && get.fence == number);
	TEST(get.window < 4 && get.remaining == 0 && get.info.fault_type == ANE_FAULT_TYPE_TRANSLATION_FAULT);
	/* Base addresses that name nothing are zero. */
	TEST(get.info.address < 0x4000000 && get.info.l3_index == (get.info.address >> 14 & 0x7ff) &&
	     (get.info.hw_error == ANE_FAULT_CAUSE_NO_L2_ENTRY || get.info.hw_error == ANE_FAULT_CAUSE_NO_L3_ENTRY));
	get.sequence = fence.fault;
	TEST(call(fd, DRM_IOCTL_ANE_GET_FAULT, &get) == ENODATA);
	TEST(counter(fd, ANE_COUNTER_FAULTS) == 1 && resets() == before);
	/* A file that nobody recovers goes on by itself. */
	TEST(end_of(fd, submit(fd, holed)).result == -EIO);
	while (param(fd, ANE_PARAM_STATE) == ANE_STATE_PARKED)
		usleep(10000);
	TEST(end_of(fd, submit(fd, good)).result == 0);
	/* Of a submission of today's clients there is a fault too. */
	struct drm_ane_submit old = submission(program);
	for (unsigned bar = 2; bar < 32; bar++)
		old.handles[bar] = 0;
	CHECK(call(fd, DRM_IOCTL_ANE_SUBMIT, &old) == EIO);
	get = (struct drm_ane_get_fault){ 0 };
	TEST(call(fd, DRM_IOCTL_ANE_GET_FAULT, &get) == 0 && get.remaining == 1);
}

/* What only root may do, by a process that is not. */
static void privileges(int fd)
{
	uint64_t counters[40] = { 0 };
	const struct drm_ane_get_stats all = { .counters = (uintptr_t)counters, .count = 40, .scope = ANE_STATS_DEVICE };
	struct drm_ane_get_stats get = all;
	int status;
	TEST(call(fd, DRM_IOCTL_ANE_GET_STATS, &get) == 0 && counters[ANE_COUNTER_COMPLETED] > 0);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		struct drm_ane_recover reset = { .flags = ANE_RECOVER_RESET };
		CHECK(setgid(65534) == 0 && setuid(65534) == 0);
		get = all;
		_exit(call(fd, DRM_IOCTL_ANE_GET_STATS, &get) != EPERM ||
		      call(fd, DRM_IOCTL_ANE_RECOVER, &reset) != EPERM);
	}
	CHECK(waitpid(child, &status, 0) == child);
	TEST(status == 0);
}

static void left_out(int fd)
{
	struct drm_ane_pool_create pool = { .capacity = 1 };
	TEST(call(fd, DRM_IOCTL_ANE_POOL_CREATE, &pool) == ENOTTY);
	struct drm_ane_pool_take take = { 0 };
	TEST(call(fd, DRM_IOCTL_ANE_POOL_TAKE, &take) == ENOTTY);
	struct drm_ane_program_create program = { 0 };
	TEST(call(fd, DRM_IOCTL_ANE_PROGRAM_CREATE, &program) == ENOTTY);
	struct drm_ane_pe_mmu_map map = { 0 };
	TEST(call(fd, DRM_IOCTL_ANE_PE_MMU_MAP, &map) == EOPNOTSUPP);
	struct drm_ane_mover mover = { 0 };
	TEST(call(fd, DRM_IOCTL_ANE_MOVER, &mover) == EOPNOTSUPP);
	TEST((param(fd, ANE_PARAM_FEATURES) & (ANE_FEATURE_PE_MMU | ANE_FEATURE_MOVER)) == 0);
	struct drm_ane_recover reset = { .flags = ANE_RECOVER_RESET };
	TEST(call(fd, DRM_IOCTL_ANE_RECOVER, &reset) == 0);
}

/* As many requests as there is room for, always. */
static void load_engine(void)
{
	struct drm_ane_bar bars[33];
	struct program program = fresh(1);
	struct drm_ane_request request = raw(&program, bars);
	struct drm_ane_fence fence = { 0 };
	struct drm_ane_wait wait = {
		.fences = (uintptr_t)&fence, .count = 1, .fence_size = sizeof fence, .timeout_ns = NEVER,
	};
	int ended;
	request.flags = ANE_REQUEST_NONBLOCK;
	printf("submits\n");
	fflush(stdout);
	for (;;) {
		ended = refused(program.fd, request);
		if (ended == EAGAIN) {
			/* The oldest of them makes room. */
			fence.fence++;
			do
				ended = call(program.fd, DRM_IOCTL_ANE_WAIT, &wait);
			while (ended == EINTR); /* The system went to sleep. */
		}
		if (ended)
			break;
	}
	printf("load: %s\n", strerror(ended));
	drop(&program);
}

static void leave(void)
{
	struct drm_ane_bar bars[33];
	struct program program = fresh(1);
	submit(program.fd, raw(&program, bars));
	/* Until it runs. */
	usleep(500000);
	double begun = seconds();
	CHECK(open_device() >= 0);
	drop(&program);
	printf("%s\n", seconds() - begun < 20 ? "left" : "held up");
}

int main(int argc, char **argv)
{
	CHECK(argc >= 2);
	model = argv[1];
	if (argc == 3 && strcmp(argv[2], "load") == 0) {
		load_engine();
		return 0;
	}
	if (argc == 3 && strcmp(argv[2], "leave") == 0) {
		leave();
		return 0;
	}
	struct program program = fresh(1);
	parameters(program.fd);
	contexts();
	buffers();
	refusals(&program);
	requests(&program);
	drop(&program);
	full_queues();
	shortened_chains();
	program = fresh(2);
	endings(&program);
	faults(&program);
	privileges(program.fd);
	left_out(program.fd);
	struct drm_ane_get_stats stats = { .count = ANE_STATS_MAX + 1 };
	TEST(call(program.fd, DRM_IOCTL_ANE_GET_STATS, &stats) == E2BIG);
	stats = (struct drm_ane_get_stats){ .scope = 2 };
	TEST(call(program.fd, DRM_IOCTL_ANE_GET_STATS, &stats) == EINVAL);
	drop(&program);
	printf("1..%d\n", count);
	return failed != 0;
}
